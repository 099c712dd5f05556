// SPDX-License-Identifier: Apache-2.0
// Operations of torch that the profiler runs itself on a thread of the program. The callbacks that torch calls for each
// operation (torch.profiler, an execution trace, the program's own, ours) do not see them, and the program's memory
// profiler is not told of their memory.
//
// Context: a thread of the program or the profiler's own, while torch is loaded.
#pragma once

#include <cstdint>

namespace tensorscope::torch {

extern constinit thread_local uint32_t t_unrecorded;

class Unrecorded {
 public:
  Unrecorded();
  ~Unrecorded();
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  bool recorded_before_ = false;
};

}  // namespace tensorscope::torch
