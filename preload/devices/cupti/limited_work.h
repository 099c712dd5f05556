// SPDX-License-Identifier: Apache-2.0
// A piece of work on a thread of its own, waited for up to a limit: CUPTI takes locks of the driver's, which a thread
// that hangs may hold. The thread has the program's descriptors, since those of the driver are among them.
//
// Context: collector, or a hook that may wait. All signals are blocked on the thread, and nothing that it causes is
// recorded. An abandoned one ends when it can; until then there is no other.
#pragma once

#include <cstdint>

#include "support/locks/mutex.h"

namespace tensorscope::cupti {

class LimitedWork {
 public:
  constexpr LimitedWork() = default;

  // False: it has not ended within the limit, or there is no thread for it.
  bool run(void (*work)(), uint64_t limit_ns) NO_THREAD_SAFETY_ANALYSIS;  // the thread gives the lock back

 private:
  static void* run_thread(void* self) NO_THREAD_SAFETY_ANALYSIS;

  Mutex busy_;
  void (*work_)() = nullptr;
};

}  // namespace tensorscope::cupti
