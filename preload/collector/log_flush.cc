// SPDX-License-Identifier: Apache-2.0
#include "collector/log_flush.h"

#include <atomic>

#include "collector/collector.h"
#include "collector/wake.h"
#include "support/clock.h"
#include "support/fresh_in_child.h"
#include "support/locks/futex.h"
#include "support/log.h"

namespace tensorscope::collector {

namespace {

// How often threads that end the program asked, and up to which of these the log is written.
struct LogRequests {
  std::atomic<uint32_t> asked{0}, served{0};
};
constinit LogRequests g_log;
FreshInChild g_fresh_log{g_log};

}  // namespace

void write_waiting_log() {
  const uint32_t asked = g_log.asked.load(std::memory_order_acquire);
  write_log();
  if (g_log.served.exchange(asked, std::memory_order_acq_rel) != asked) futex_wake(g_log.served);
}

void finish_log() {
  if (log_lines_wait()) run_and_wait(write_log);
}

void finish_log_before_exit() {
  if (!log_lines_wait()) return;
  constexpr uint64_t kPatienceNs = 1'000'000'000;
  const uint32_t asked = g_log.asked.fetch_add(1, std::memory_order_acq_rel) + 1;
  wake_collector();
  const uint64_t until = monotonic_ns() + kPatienceNs;
  for (;;) {
    const uint32_t served = g_log.served.load(std::memory_order_acquire);
    if (int32_t(served - asked) >= 0 || !futex_wait_until(g_log.served, served, until)) return;
  }
}

}  // namespace tensorscope::collector
