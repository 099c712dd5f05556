// SPDX-License-Identifier: Apache-2.0
// Walks over the loaded objects, kept apart from fork.
//
// dl_iterate_phdr holds a lock of the loader's that glibc does not free in a forked child (dl_load_write_lock; seen
// with 2.36): where a fork comes in the middle of another thread's walk, the next walk in the child waits for ever. So
// a fork waits for the end of our walks, libunwind's in our service included, and no new one begins meanwhile.
//
// Context: hook, collector, activation, with no lock of ours held. Both sides wait for a time only: a walk that has
// waited for a fork for 2 s begins all the same, and a fork goes on after 1 s. Where that happened, walks in the child
// go by the list that the loader keeps for debuggers, without the lock, and libunwind is not called any more.
#pragma once

#include <link.h>

#include "support/function_ref.h"

namespace tensorscope {

// Around what walks, or calls what may. May be nested.
class LoaderWalk {
 public:
  LoaderWalk();
  ~LoaderWalk();
  LoaderWalk(const LoaderWalk&) = delete;
  LoaderWalk& operator=(const LoaderWalk&) = delete;
  // False: the loader's lock is lost in this process.
  explicit operator bool() const;
};

// dl_iterate_phdr under a LoaderWalk, or what stands for it; the counts of loads and unloads are 0 there. Ends with the
// first answer of `visit` that is not 0, and returns it.
int walk_loaded_objects(FunctionRef<int(const dl_phdr_info& info)> visit);

// Context: the forking thread, around fork.
void hold_loader_walks();
void release_loader_walks();

}  // namespace tensorscope
