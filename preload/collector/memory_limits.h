// SPDX-License-Identifier: Apache-2.0
// Growth as it is watched in this process: limits that come near (memory_watch.h) and new peaks (growth_watch.h).
//
// An allocation costs one comparison of live bytes with a mark that the last look has left in the device table; the
// thread whose allocation passes it looks anew. Who looks is alone: another thread goes on and looks at its next
// allocation. The collector looks from time to time too, since memory is also taken by what is not torch.
#pragma once

#include "dump/failure.h"

namespace tensorscope::collector {

// Context: activation, once the collector runs.
void start_memory_limits();

// Context: collector. How long it may sleep before it looks at the limits, in milliseconds; 0: for ever.
unsigned sleep_before_look_ms();
// Context: collector. Looks where it is time to. True: a limit is near, and `low` says which.
bool limit_is_near(dump::Failure& low);

// Context: the failing thread. A failure leads to a dump: a limit that is near does not lead to another one soon after.
void failure_is_dumped();

// Context: collector. A dump at growth has been written.
void growth_dump_written(const char* path);

}  // namespace tensorscope::collector
