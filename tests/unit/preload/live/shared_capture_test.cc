// SPDX-License-Identifier: Apache-2.0
#include "live/shared_capture.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tensorscope::live {
namespace {

constexpr Serial kSerial = 7;

class SharedCaptureTest : public testing::Test {
 protected:
  // A StorageImpl whose word `at` is this address.
  const void* const* storage_of(const void* data, size_t at = 2) {
    for (const void*& word : words_) word = nullptr;
    words_[at] = data;
    return &storage_;
  }
  void allocate(const void* address, SiteId site = 5) {
    capture.allocated({.address = address, .nbytes = 64, .site = site, .python = 3});
  }
  bool construct(const void* impl, const void* const* storage) {
    capture.takes_storage(impl, storage);
    return capture.constructed(impl);
  }

  SharedCapture capture;
  char block[2], impl[3];

 private:
  const void* words_[4] = {};
  const void* storage_ = words_;
};

TEST_F(SharedCaptureTest, OneTensorTakesTheBlock) {
  allocate(&block[0]);
  EXPECT_TRUE(construct(&impl[0], storage_of(&block[0])));
  EXPECT_EQ(capture.block().site, 5u) << "what the tensor is to share stays readable";
  EXPECT_EQ(capture.block().nbytes, 64u);
  EXPECT_EQ(capture.block().python, 3u);
  EXPECT_FALSE(construct(&impl[1], storage_of(&block[0]))) << "a second one on the same storage";
}

TEST_F(SharedCaptureTest, TheDataPointerIsOneOfTwoWords) {
  for (const size_t at : {0, 1, 2, 3}) {
    allocate(&block[0]);
    EXPECT_EQ(construct(&impl[0], storage_of(&block[0], at)), at >= 2) << at;
  }
}

TEST_F(SharedCaptureTest, WithoutABlockOrAStorageNothingIsTaken) {
  EXPECT_FALSE(construct(&impl[0], storage_of(nullptr))) << "two nulls are no block";
  allocate(&block[0]);
  const void* const none = nullptr;
  EXPECT_FALSE(construct(&impl[0], &none));
  EXPECT_TRUE(construct(&impl[0], storage_of(&block[0]))) << "the block still waits";
}

TEST_F(SharedCaptureTest, AnotherBlocksStorageLeavesTheBlock) {
  allocate(&block[0]);
  EXPECT_FALSE(construct(&impl[0], storage_of(&block[1])));
  EXPECT_TRUE(construct(&impl[1], storage_of(&block[0])));
}

TEST_F(SharedCaptureTest, ATensorThatIsConstructedInBetweenEndsTheClaimAndNotTheBlock) {
  allocate(&block[0]);
  capture.takes_storage(&impl[0], storage_of(&block[0]));
  EXPECT_FALSE(capture.constructed(&impl[1]));
  EXPECT_FALSE(capture.constructed(&impl[0]));
  EXPECT_TRUE(construct(&impl[2], storage_of(&block[0])));
}

TEST_F(SharedCaptureTest, TheLastOfferCounts) {
  allocate(&block[0]);
  capture.takes_storage(&impl[0], storage_of(&block[0]));
  capture.takes_storage(&impl[1], storage_of(&block[0]));
  EXPECT_TRUE(capture.constructed(&impl[1]));
  allocate(&block[0]);
  capture.takes_storage(&impl[0], storage_of(&block[0]));
  capture.takes_storage(&impl[1], storage_of(&block[1]));
  EXPECT_FALSE(capture.constructed(&impl[0]));
}

TEST_F(SharedCaptureTest, ANewBlockReplacesTheOneThatWaits) {
  allocate(&block[0]);
  allocate(&block[1], 6);
  EXPECT_FALSE(construct(&impl[0], storage_of(&block[0])));
  capture.takes_storage(&impl[0], storage_of(&block[1]));
  allocate(&block[0], 8);  // what its constructor allocates is of the same operation
  EXPECT_TRUE(capture.constructed(&impl[0]));
  EXPECT_EQ(capture.block().site, 8u);
}

TEST_F(SharedCaptureTest, TheNewestIsKnownUntilAnotherThreadDestroysIt) {
  TensorRow row{};
  row.serial = kSerial;
  EXPECT_FALSE(capture.is_newest(nullptr));
  capture.newest() = {.row = &row, .impl = &impl[0], .serial = kSerial, .site = 9, .replaced = 0};
  EXPECT_TRUE(capture.is_newest(&impl[0]));
  EXPECT_FALSE(capture.is_newest(&impl[1]));
  std::atomic<bool> go{false};
  std::thread other([&] {
    while (!go.load(std::memory_order_relaxed)) std::this_thread::yield();
    row.serial.store(kSerial + 1, std::memory_order_relaxed);  // the row is another tensor's, at the same address
  });
  go.store(true, std::memory_order_relaxed);
  while (capture.is_newest(&impl[0])) std::this_thread::yield();
  other.join();
  EXPECT_EQ(capture.newest().site, 9u);
}

}  // namespace
}  // namespace tensorscope::live
