// SPDX-License-Identifier: Apache-2.0
// Covers: preload/python/heap_inspector/graph/look_limits.cc preload/python/heap_inspector/rows/tensor_batches.cc
#include "python/heap_inspector/graph/look_limits.h"

#include <gtest/gtest.h>

#include <vector>

#include "python/heap_inspector/rows/tensor_batches.h"
#include "support/enough_memory.h"

namespace tensorscope::python::heap_inspector {
namespace {

using Stop = LookLimits::Stop;

TEST(LookLimits, TheFirstStepsOfEachPartAreFreeOfTheClock) {
  LookLimits limits(Deadline{0}, 10);
  for (int part = 0; part < 2; ++part) {
    limits.begin_part(1, 1);
    for (int i = 0; i < 9; ++i) EXPECT_FALSE(limits.reached()) << i;
    EXPECT_TRUE(limits.reached());
    EXPECT_TRUE(limits.reached());
    EXPECT_EQ(limits.part_stop(), Stop::time);
  }
  EXPECT_EQ(limits.stop(), Stop::time);
}

TEST(LookLimits, AStepMayCountForMany) {
  LookLimits limits(Deadline{0}, 1000);
  EXPECT_FALSE(limits.reached(999));
  EXPECT_TRUE(limits.reached(1));
}

TEST(LookLimits, TheFirstReasonStays) {
  LookLimits limits = LookLimits::none();
  EXPECT_FALSE(limits.reached(1 << 20));
  limits.memory_ran_out();
  EXPECT_TRUE(limits.reached());
  limits.begin_part(1, 1);
  EXPECT_FALSE(limits.reached());
  limits.end_part(Stop::time);
  EXPECT_EQ(limits.part_stop(), Stop::time);
  EXPECT_EQ(limits.stop(), Stop::memory);
}

TEST(LookLimits, EachPartHasItsShareOfTheMemory) {
  MemoryLimit memory(1'000'000);
  LookLimits limits(Deadline::never(), 1);
  limits.begin_part(1, 0.5);
  const std::vector<char> first(400'000);
  EXPECT_FALSE(limits.reached());
  const std::vector<char> second(200'000);
  EXPECT_TRUE(limits.reached(LookLimits::kStepsPerReading));
  EXPECT_EQ(limits.part_stop(), Stop::memory);
  limits.begin_part(1, 1);
  EXPECT_FALSE(limits.reached());
}

TEST(TensorBatches, TheFirstHas64AndTheNextWhatFits) {
  MemoryLimit memory(1'000'000);
  LookLimits limits = LookLimits::none();
  TensorBatches batches(limits);
  ASSERT_TRUE(batches.begin());
  EXPECT_TRUE(batches.takes_more(63, 1'000'000));
  EXPECT_FALSE(batches.takes_more(64, 64));
  const std::vector<char> taken(100'000);
  batches.end(1000);  // 100 bytes a question: 4,500 more take half of what is left
  ASSERT_TRUE(batches.begin());
  EXPECT_TRUE(batches.takes_more(1, 4'400));
  EXPECT_FALSE(batches.takes_more(1, 4'600));
}

// Of a training program the largest tensors are activations, which only the autograd graph keeps.
TEST(TensorBatches, GoOnWhereTensorsAskNothing) {
  MemoryLimit memory(1'000'000);
  LookLimits limits = LookLimits::none();
  TensorBatches batches(limits);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(batches.begin()) << i;
    EXPECT_TRUE(batches.takes_more(63, 0));
    batches.end(0);
  }
  EXPECT_EQ(batches.stop(), Stop::none);
}

TEST(TensorBatches, EndWhereNoMoreFits) {
  MemoryLimit memory(1'000'000);
  LookLimits limits = LookLimits::none();
  TensorBatches batches(limits);
  ASSERT_TRUE(batches.begin());
  const std::vector<char> taken(990'000);
  batches.end(1000);
  EXPECT_FALSE(batches.begin());
  EXPECT_EQ(batches.stop(), Stop::memory);
}

}  // namespace
}  // namespace tensorscope::python::heap_inspector
