// SPDX-License-Identifier: Apache-2.0
#include "oom/reserve.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/system_limits.h"
#include "support/under_qemu.h"

namespace tensorscope::oom {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20, kReserve = 64 * kMiB;

// In a child, whose limit nobody else feels.
uint64_t left_in_use(uint64_t left_before) {
  rlimit limit = {rlim_t{1} << 50, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur -= address_space_left() - left_before;
  setrlimit(RLIMIT_AS, &limit);
  const ReserveInUse in_use;
  return address_space_left();
}

TEST(Reserve, IsGivenBackWholeWhereThereIsRoomForMore) {
  EXPECT_EQ(reserve_to_give_back(kReserve, UINT64_MAX), kReserve);
  EXPECT_EQ(reserve_to_give_back(kReserve, 64 * kMiB), kReserve);
}

TEST(Reserve, LeavesNoRoomForAnArenaOfMalloc) {
  for (uint64_t left = 0; left < 64 * kMiB; left += kMiB / 2) {
    const uint64_t given = reserve_to_give_back(kReserve, left);
    EXPECT_LT(left + given, 64 * kMiB) << left;
    EXPECT_GE(left + given, 62 * kMiB) << left;
  }
}

void take_it_thrice() {
  hold_reserve();
  for (int turn = 0; turn < 3; ++turn) {
    const uint64_t left = left_in_use(16 * kMiB), after = address_space_left();
    if (left < 62 * kMiB || left >= 64 * kMiB || after > 17 * kMiB) _exit(1);
  }
  _exit(0);
}

TEST(Reserve, IsTakenAgain) {
  if (under_qemu()) GTEST_SKIP() << "qemu limits no address space";
  EXPECT_EXIT(take_it_thrice(), testing::ExitedWithCode(0), "");
}

void take_it_where_space_is_tight() {
  rlimit limit = {rlim_t{1} << 50, RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur -= address_space_left() - 400 * kMiB;
  setrlimit(RLIMIT_AS, &limit);
  const uint64_t before = address_space_left();
  hold_reserve();
  { const ReserveInUse in_use; }
  _exit(address_space_left() == before ? 0 : 1);
}

TEST(Reserve, IsNotWhatATightAddressSpaceLacks) {
  if (under_qemu()) GTEST_SKIP() << "qemu limits no address space";
  EXPECT_EXIT(take_it_where_space_is_tight(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tensorscope::oom
