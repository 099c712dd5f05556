#include "collector/log_flush.h"

#include <atomic>

#include "collector/collector.h"
#include "support/clock.h"
#include "support/futex.h"
#include "support/log.h"

namespace tensorscope::collector {

namespace {

// How often threads that end the program asked, and up to which of these the log is written.
std::atomic<uint32_t> g_log_asked{0}, g_log_served{0};

}  // namespace

void write_waiting_log() {
  const uint32_t asked = g_log_asked.load(std::memory_order_acquire);
  write_log();
  if (g_log_served.exchange(asked, std::memory_order_acq_rel) != asked) futex_wake(g_log_served);
}

void finish_log() {
  if (log_lines_wait()) run_and_wait(write_log);
}

void finish_log_before_exit() {
  if (!log_lines_wait()) return;
  constexpr uint64_t kPatienceNs = 1'000'000'000;
  const uint32_t asked = g_log_asked.fetch_add(1, std::memory_order_acq_rel) + 1;
  wake_collector();
  const uint64_t until = monotonic_ns() + kPatienceNs;
  for (;;) {
    const uint32_t served = g_log_served.load(std::memory_order_acquire);
    if (int32_t(served - asked) >= 0 || !futex_wait_until(g_log_served, served, until)) return;
  }
}

void reset_log_flush_after_fork() {
  g_log_asked.store(0, std::memory_order_relaxed);
  g_log_served.store(0, std::memory_order_relaxed);
}

}  // namespace tensorscope::collector
