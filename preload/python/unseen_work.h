// SPDX-License-Identifier: Apache-2.0
// Work of the profiler on a thread of the program, in Python and with operations of torch, that nothing of the program
// sees: no tracer, profiler or monitor of Python (python/untraced.h), no callback of torch (torch/unrecorded.h). That
// modes of torch do not see it is up to the Python: torch._C.DisableTorchFunction(), and nothing under a dispatch mode.
//
// Context: a thread that holds the GIL.
#pragma once

#include "python/method.h"
#include "python/untraced.h"
#include "torch/unrecorded.h"

namespace tensorscope::python {

class UnseenWork {
 public:
  explicit UnseenWork(const Api& api) : untraced_(api) {}

 private:
  Untraced untraced_;
  torch::Unrecorded unrecorded_;
};

// For Python of ours that the program's Python calls (a hook, a function at its exit): `unseen_begins()`, and
// `unseen_ends()` in any case afterwards. They nest.
extern MethodDefinition g_unseen_begins, g_unseen_ends;

}  // namespace tensorscope::python
