// SPDX-License-Identifier: Apache-2.0
// What happens to the profiler when the process forks.
#pragma once

namespace tensorscope::hooks {

// Registers the handlers that run around fork(), once. Context: activation.
void start_fork_handlers();

}  // namespace tensorscope::hooks
