// SPDX-License-Identifier: Apache-2.0
#include "oom/failure_record.h"

#include <gtest/gtest.h>

#include <thread>

namespace tensorscope::oom {
namespace {

constexpr Device kCuda1{.type = 1, .index = 1};
constexpr Device kCuda2{.type = 1, .index = 2};
constexpr Device kHost{.type = 0, .index = -1};

class FailureRecordTest : public testing::Test {
 protected:
  void SetUp() override {
    dump::Failure of_another_test;
    take_failure(true, of_another_test);
  }
  dump::Failure failure_;
};

TEST_F(FailureRecordTest, GivesWhatTheAllocatorReported) {
  allocator_reported(512, 100, 200, kCuda1);
  EXPECT_TRUE(take_failure(true, failure_));
  EXPECT_EQ(failure_.kind, dump::Kind::device);
  EXPECT_EQ(failure_.limit, SystemLimit::device);
  EXPECT_EQ(failure_.device.index, 1);
  EXPECT_EQ(failure_.requested, 512u);
  EXPECT_EQ(failure_.allocator_allocated, 100u);
  EXPECT_EQ(failure_.allocator_reserved, 200u);
  EXPECT_STREQ(failure_.error, "c10::OutOfMemoryError");
}

TEST_F(FailureRecordTest, ForgetsWhatWasThrown) {
  allocator_reported(512, 100, 200, kCuda1);
  runtime_call_failed(dump::Kind::device, kCuda1, 1024, "cudaMalloc");
  take_failure(true, failure_);
  dump::Failure second;
  EXPECT_TRUE(take_failure(true, second));
  EXPECT_EQ(second.requested, 0u);
  EXPECT_FALSE(take_failure(false, second));
}

TEST_F(FailureRecordTest, PrefersTheAllocatorsNumbersToTheCalls) {
  runtime_call_failed(dump::Kind::device, kCuda2, 2 << 20, "cudaMalloc");
  allocator_reported(512, 100, 200, kCuda1);
  take_failure(true, failure_);
  EXPECT_EQ(failure_.requested, 512u);
  EXPECT_EQ(failure_.device.index, 1);
}

TEST_F(FailureRecordTest, FallsBackOnTheCall) {
  runtime_call_failed(dump::Kind::device, kCuda2, 4096, "cudaMallocAsync");
  EXPECT_TRUE(take_failure(true, failure_));
  EXPECT_EQ(failure_.device.index, 2);
  EXPECT_EQ(failure_.requested, 4096u);
}

TEST_F(FailureRecordTest, WhatNobodyReportedIsOfTheDeviceInUseOrUnknown) {
  EXPECT_TRUE(take_failure(true, failure_));
  EXPECT_EQ(failure_.kind, dump::Kind::unknown);
  EXPECT_EQ(failure_.limit, SystemLimit::none);
  failure_ = {};
  failure_.device = kCuda2;
  EXPECT_TRUE(take_failure(true, failure_));
  EXPECT_EQ(failure_.kind, dump::Kind::device);
  EXPECT_EQ(failure_.device.index, 2);
}

TEST_F(FailureRecordTest, AnExceptionOfC10IsAFailureAfterAFailedCallAlone) {
  EXPECT_FALSE(take_failure(false, failure_));
  runtime_call_failed(dump::Kind::pinned, kHost, 4096, "cudaHostAlloc");
  EXPECT_TRUE(take_failure(false, failure_));
  EXPECT_EQ(failure_.kind, dump::Kind::pinned);
  EXPECT_EQ(failure_.limit, SystemLimit::none);
  EXPECT_EQ(failure_.requested, 4096u);
  EXPECT_STREQ(failure_.error, "cudaHostAlloc: out of memory");
}

TEST_F(FailureRecordTest, WhatWasMadeGoodIsNoFailure) {
  runtime_call_failed(dump::Kind::device, kCuda1, 4096, "cudaMalloc");
  allocation_succeeded();
  EXPECT_FALSE(take_failure(false, failure_));
}

TEST_F(FailureRecordTest, TheCpusOwnReportIsNotADevices) {
  allocator_reported(512, 100, 200, kHost);
  take_failure(true, failure_);
  EXPECT_EQ(failure_.requested, 0u);
}

TEST_F(FailureRecordTest, IsTheThreadsOwn) {
  runtime_call_failed(dump::Kind::device, kCuda1, 4096, "cudaMalloc");
  std::thread([] {
    dump::Failure other;
    EXPECT_FALSE(take_failure(false, other));
  }).join();
  EXPECT_TRUE(take_failure(false, failure_));
}

}  // namespace
}  // namespace tensorscope::oom
