// SPDX-License-Identifier: Apache-2.0
// Values and calls of modules, if TENSORSCOPE_WATCH or TENSORSCOPE_CALLS is set: reads what is wanted,
// has the hooks registered before the program's first call of a module, and closes the file at the end.
#pragma once

#include <atomic>

#include "python/interpreter.h"

namespace tensorscope::watch {

// What libtensorscope.save() and its like need, where nothing is watched. `gil`: null where the calling thread may be
// without it. Context: under run_or_abandon_on_oom() and an InsideScope.
void start_for_api_values(const python::Gil* gil);

// Reads the options and the watch file. `wake_writer`: has the thread that calls flush() (value_store.h) look. Context:
// activation.
void start(void (*wake_writer)());

// True while hooks are wanted and not yet registered. Any context; one load.
extern constinit std::atomic<bool> g_waits_for_torch;
inline bool waits_for_torch() { return g_waits_for_torch.load(std::memory_order_relaxed); }

// Has the main thread register the hooks at its next chance: before it calls a module, since it has to make one first.
// Context: hook, any thread; cheap if a call is pending already.
void ask_main_thread();

// The same by a thread that waits for the GIL, for programs that use modules in other threads alone. Context:
// collector.
void ask_by_gil_thread();

// At the end of the program, what callbacks and calls that still run give. Context: the thread that ends the program.
void end_values();
// Whether there are values, which finish() writes. Context: any.
bool values_are_taken();
// Writes the end of the file. Context: collector, after end_values().
void finish();

}  // namespace tensorscope::watch
