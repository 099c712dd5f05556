// SPDX-License-Identifier: Apache-2.0
// The recording: everything that happens to tensors and memory, in a file that grows while the program runs.
//
// Context: start() at activation; flush(), switch_on(), switch_off(), hold(), go_on() and finish() on the collector.
// One lock between them.
#pragma once

#include <cstdint>

namespace tensorscope::recording {

// Begins to record if TENSORSCOPE_RECORD is set. `wake_writer`: has the thread that calls flush() look.
void start(void (*wake_writer)());

// From this moment on; what is alive is in the file first.
void switch_on();
// Writes what waits. The file stays, and goes on with the next switch_on().
void switch_off();

// `tensorscope stop --all`: off, and switch_on() and switch_off() count from go_on() on.
void hold();
void go_on();

bool is_on();
// Whether anything was ever recorded in this process: then finish() has work.
bool has_begun();

// Writes what waits where it is time for it, or much waits.
void flush();
// Writes what waits, before a dump: what is alive in both is then the same in both. Context: collector.
void flush_now();
uint64_t flush_interval_ms();  // the most that flush() may be called late; UINT64_MAX: nothing is recorded

// What waits, and the file's end, by the thread that calls flush(); waits for it for a second at most.
// Context: _exit() and _Exit(), perhaps in a signal handler; not in a child of vfork().
void flush_before_exit();

// The file's end. Nothing is recorded afterwards.
void finish();

// Context: fork child. What the parent has not written is the parent's; the child gets a file of its own.
void after_fork_in_child();

}  // namespace tensorscope::recording
