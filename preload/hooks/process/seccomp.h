// SPDX-License-Identifier: Apache-2.0
// Filters of system calls that the program puts before itself (seccomp.cc).
#pragma once

namespace tensorscope::hooks {

// Which functions prctl() and syscall() go on to. Context: when the library is loaded.
void find_next_system_calls();

}  // namespace tensorscope::hooks
