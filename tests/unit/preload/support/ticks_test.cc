// SPDX-License-Identifier: Apache-2.0
#include "support/ticks.h"

#include <gtest/gtest.h>
#include <time.h>

namespace tensorscope {
namespace {

constexpr uint64_t kMs = 1'000'000;

void sleep_ms(long ms) {
  const timespec time = {0, ms * 1'000'000};
  nanosleep(&time, nullptr);
}

TEST(RecentClock, IsNeverAheadAndNeverGoesBack) {
  RecentClock clock;
  uint64_t before = clock.ns();
  EXPECT_GT(before, 0u);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t now = clock.ns();
    ASSERT_GE(now, before);
    ASSERT_LE(now, monotonic_ns());
    before = now;
  }
}

// A tick of the coarse clock is 10 ms at most.
TEST(RecentClock, GoesOnWithTheClock) {
  RecentClock clock;
  const uint64_t before = clock.ns();
  sleep_ms(60);
  EXPECT_GE(clock.ns(), before + 45 * kMs);
}

TEST(TickClock, TimesLieBetweenItsReadings) {
  TickClock clock;
  clock.begin(1000, 50);
  clock.read();
  EXPECT_EQ(clock.ns(1000), 50u);
  EXPECT_EQ(clock.ns(0), 50u);
  const uint64_t now = clock.ns(read_ticks());
  EXPECT_LE(now, monotonic_ns());
  EXPECT_GE(clock.ns(2000), 50u);
}

}  // namespace
}  // namespace tensorscope
