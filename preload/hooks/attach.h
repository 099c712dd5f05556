// SPDX-License-Identifier: Apache-2.0
// A profiler that is loaded into a process that runs already (tensorscope attach; ctypes): nothing was bound to it, and
// tensors are there that it has not seen.
#pragma once

namespace tensorscope::hooks {

// Whether this process got the profiler so. Any context.
bool attached();
void mark_attached();

// Context: activation, in such a process. Makes calls of torch arrive from now on. False: no memory.
bool start_attached();

}  // namespace tensorscope::hooks
