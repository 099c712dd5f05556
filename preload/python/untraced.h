// SPDX-License-Identifier: Apache-2.0
// Python that the profiler runs itself: no tool that traces, profiles or monitors the program sees it. Does nothing
// before CPython 3.11, which has no function for it.
//
// Context: a thread that holds the GIL.
#pragma once

#include "python/interpreter.h"

namespace tensorscope::python {

class Untraced {
 public:
  explicit Untraced(const Api& api) : api_(api) {
    if (api_.PyThreadState_EnterTracing) api_.PyThreadState_EnterTracing(api_.PyGILState_GetThisThreadState());
  }
  ~Untraced() {
    if (api_.PyThreadState_LeaveTracing) api_.PyThreadState_LeaveTracing(api_.PyGILState_GetThisThreadState());
  }
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  const Api& api_;
};

}  // namespace tensorscope::python
