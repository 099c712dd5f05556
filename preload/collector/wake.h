// SPDX-License-Identifier: Apache-2.0
// The word on which the collector thread sleeps, and the requests of ancestors.
//
// Both are on a page of their own. A collector thread with a descriptor table of its own makes it a memfd and keeps
// that open, so that an ancestor of the same user finds it (/proc/PID/task/TID/fd), counts a request and wakes the
// thread. Nothing is sent that could end a process or run its code, nothing is left on a disk, and a process that ends
// or replaces its program takes the page with it.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tensorscope::collector {

// Changes with every event that the collector has to look at; it sleeps while the count stays the same. Context: any.
uint32_t wake_count();
// Has the collector look at what there is to do. Context: any, signal handlers too.
void wake_collector();
// Returns when the count is not `seen`, after `at_most`, or without a reason. Context: collector.
void sleep_until_woken(uint32_t seen, const timespec* at_most = nullptr);

// Which dump of which process a descendant's dump goes with.
struct DumpOfAncestor {
  char run_id[33] = "";
  uint32_t pid = 0, number = 0;
  bool all = false;  // also of descendants that did not grow
};

// Lets ancestors ask, as long as the calling thread has its descriptor table. False: nobody can. Context: collector, as
// it begins.
bool share_wake_page();
// How often ancestors have asked; `last` is who did so last.
uint32_t ancestors_requests(DumpOfAncestor& last);

// Asks a process for a dump. False: it has no such page, or is not this user's. Context: collector.
bool ask_descendant(pid_t pid, const DumpOfAncestor& dump);

}  // namespace tensorscope::collector
