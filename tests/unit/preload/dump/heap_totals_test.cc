// SPDX-License-Identifier: Apache-2.0
#include "dump/heap_totals.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "support/clock.h"

namespace tensorscope::dump {
namespace {

class HeapTotalsTest : public ::testing::Test {
 protected:
  void TearDown() override { set_heap_for_test(nullptr); }
};

// On a machine under load the answer may come too late.
HeapTotals ask_until_answered() {
  HeapTotals totals;
  while ((totals = read_heap_totals()).in_use == 0) set_heap_for_test(nullptr);
  return totals;
}

TEST_F(HeapTotalsTest, AreMallocs) {
  std::vector<std::unique_ptr<char[]>> blocks;
  const HeapTotals before = ask_until_answered();
  for (int i = 0; i < 1000; ++i) blocks.push_back(std::make_unique<char[]>(4000));
  auto mapped = std::make_unique<char[]>(size_t{64} << 20);
  mapped[0] = 1;
  const HeapTotals with = ask_until_answered();
  EXPECT_GE(with.in_use, before.in_use + 4'000'000 + (uint64_t{64} << 20));
  for (size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
  EXPECT_GE(ask_until_answered().free, with.free + 1'000'000);
}

int g_asked = 0;

TEST_F(HeapTotalsTest, ALockThatIsNeverGivenBackCostsAMomentOnce) {
  g_asked = 0;
  set_heap_for_test([]() -> HeapTotals {
    ++g_asked;
    for (;;) pause();
  });
  EXPECT_EQ(read_heap_totals().in_use, 0u);
  EXPECT_EQ(read_heap_totals().in_use, 0u);
  EXPECT_EQ(g_asked, 1);
}

TEST_F(HeapTotalsTest, ASlowAnswerIsTheLastOne) {
  g_asked = 0;
  set_heap_for_test([]() -> HeapTotals {
    ++g_asked;
    const uint64_t end = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + 10'000'000;
    while (read_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) continue;
    return {5, 7};
  });
  read_heap_totals();  // on a machine under load even this may be given up
  EXPECT_EQ(read_heap_totals().in_use, 0u);
  EXPECT_EQ(g_asked, 1);
}

}  // namespace
}  // namespace tensorscope::dump
