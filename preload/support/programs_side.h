// SPDX-License-Identifier: Apache-2.0
// The program's side: a thread of the profiler's that stays in the descriptor table that the program's threads share.
// It does what the collector cannot do, whose table is its own (private_descriptor_table.h): it writes to standard
// error, and it makes the threads that call CUDA and Python, whose files are the program's. A thread can leave a table,
// but not come back to it, and only a thread with the program's table can make another one that shares it: hence one
// that waits. Nothing else is done here: it opens nothing, and no work waits for a device, a lock of the program or the
// GIL.
//
// Context: run_on_programs_side(): threads of the profiler's own. serve_programs_side(): the thread itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "support/function_ref.h"

namespace tensorscope {

// From now on other threads may post work to the calling thread, which does it in serve_programs_side(). Call before
// making such a thread.
void open_programs_side();
// Does posted work until `ended` is not 0. Who changes that wakes the thread (wake_programs_side).
void serve_programs_side(const std::atomic<uint32_t>& ended);
void wake_programs_side();

// Has the thread call the function, and waits. On a thread that has the program's table the function is called here.
// False: there is no such thread, and `function` was not called.
bool run_on_programs_side(FunctionRef<void()> function);

// There is no such thread. Context: the thread itself, which serves nobody.
void close_programs_side();

}  // namespace tensorscope
