// SPDX-License-Identifier: Apache-2.0
// The normal end of the process.
#pragma once

namespace tensorscope::hooks {

// Says in the coverage record whether main's return and exit() will write a dump. Context: activation, and before main.
void start_exit_dump();

}  // namespace tensorscope::hooks
