// SPDX-License-Identifier: Apache-2.0
// Requests to the collector, the profiler's one helper thread (collector_thread.h). It writes all dumps while it runs;
// without it (it could not start, or is ending) the thread that asks or fails writes the dump itself.
// It starts when torch appears in the process, blocks all signals and sleeps on a futex until a dump is asked for: a
// program may close every descriptor, but not a word of memory.
//
// One dump serves every signal that came before it began, and a signal that comes later leads to one more, so no
// request is lost and a hundred signals do not make a hundred dumps. Dumps that somebody waits for are written one by
// one.
//
// A client that does not want to send a signal creates a request file, which the collector thread polls once a second
// (request_file.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "dump/reason.h"
#include "support/ids.h"

namespace tensorscope::dump {
struct Failure;
}

namespace tensorscope::collector {

using dump::Reason;

// Context: signal handler, or any. Asks for one more dump; requests that come during a dump lead to one more after it.
void request_from_signal();

// Context: any thread but the collector, no HookScope. Writes a dump and waits for its end, with the GIL given up
// meanwhile where the caller holds it. `path_out` may be null. Returns TENSORSCOPE_OK or _FAILED (tensorscope.h).
// `detail` ends up in the dump ("exit status 3"), or instead of it the place of `site`, the call that asks.
int write_dump_and_wait(Reason reason, const char* detail, char* path_out, size_t path_size, SiteId site = 0);

// Context: as write_dump_and_wait(). Has the collector call `work`, and waits.
void run_and_wait(void (*work)());
// The same by the thread that ends the program: the GIL stays as it is, since the interpreter may be gone.
void run_at_the_end(void (*work)());
// Returns once a collector that is starting has begun its features. Context: likewise; without the GIL.
void wait_until_begun();

// Context: the failing thread, under its HookScope. Writes a dump of reason out_of_memory and waits for its end. Where
// the thread holds the GIL it lends it (python/gil_thread.h) and never releases it: it may hold a lock of torch.
// False: no dump was written.
bool write_failure(const dump::Failure& failure);

// Context: hook, perhaps under the lock of a device's allocator. Asks for a dump at growth; as with signals, one serves
// all that ask before it begins.
void request_at_growth();

}  // namespace tensorscope::collector
