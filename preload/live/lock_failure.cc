// SPDX-License-Identifier: Apache-2.0
#include "live/lock_failure.h"

#include <atomic>

#include "support/coverage.h"
#include "support/message.h"
#include "support/state.h"

namespace tensorscope::live {

void give_up_on_locks() {
  static constexpr const char* kWhy = "recording stopped: a lock of the live tables was not free for 2 s";
  static constinit std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  switch_off(kWhy);
  for (Subject subject :
       {Subject::tensors, Subject::cpu_memory, Subject::mapped_memory, Subject::cuda_memory, Subject::autograd}) {
    if (coverage(subject).seen.load(std::memory_order_acquire) == Seen::yes) set_coverage(subject, Seen::partly, kWhy);
  }
  say("%s. The program continues; later dumps contain data only up to this point.", kWhy);
}

}  // namespace tensorscope::live
