// SPDX-License-Identifier: Apache-2.0
// The moment at which torch appears in the process: the first hooked call wakes the profiler.
#pragma once

#include "support/coverage.h"

namespace tensorscope {

// Context: hook that found nothing recording. The first call in a process reads the options, starts the tables, the
// unwinder, the collector and the signal; it comes from libc10's static initialiser, with the loader's lock held by
// this thread. An event of another thread that comes meanwhile is counted as missed. Otherwise nothing happens:
// recording is off.
void wake(Subject subject);

// The same without an event, for a process that was running before (attach.h). `settings`: as parse_options() takes
// them.
void wake_with(const char* settings);

// True once the profiler was started in this process and was not switched off by its option: there is something to
// dump.
bool activated();

}  // namespace tensorscope
