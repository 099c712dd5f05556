// SPDX-License-Identifier: Apache-2.0
#include "python/memory_for_names.h"

#include <gtest/gtest.h>

namespace tensorscope::python {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(MemoryForNames, IsAShareOfWhatIsLeftUnderTheNearestLimit) {
  SystemMemory system;
  system.machine = {32'000 * kMiB, 20'000 * kMiB};
  EXPECT_EQ(memory_for_names(system, 0), 5'000 * kMiB);
  system.cgroup = {1'000 * kMiB, 400 * kMiB};
  EXPECT_EQ(memory_for_names(system, 0), 100 * kMiB);
  system.address_space = {4'000 * kMiB, 64 * kMiB};
  EXPECT_EQ(memory_for_names(system, 0), 32 * kMiB);
  system.data = {1'000 * kMiB, 0};
  EXPECT_EQ(memory_for_names(system, 0), 0u);
}

TEST(MemoryForNames, IsNoMoreThanTheUserAllows) {
  SystemMemory system;
  system.machine = {32'000 * kMiB, 20'000 * kMiB};
  EXPECT_EQ(memory_for_names(system, 64 * kMiB), 64 * kMiB);
  EXPECT_EQ(memory_for_names(system, 6'000 * kMiB), 5'000 * kMiB);
}

TEST(MemoryForNames, IsBoundedWhereNothingIsKnown) { EXPECT_EQ(memory_for_names({}, 0), 1024 * kMiB); }

}  // namespace
}  // namespace tensorscope::python
