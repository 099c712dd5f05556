// SPDX-License-Identifier: Apache-2.0
// What the caching allocator of a device keeps: its rules, on requests put together by hand.
#include "forecast/reserved.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer::forecast {

namespace {

constexpr double kMiB = 1 << 20;

class Requests {
 public:
  uint32_t make(double bytes) {
    replay_.growths.push_back(Growth::constant(bytes));
    replay_.blocks.push_back({kNone, uint32_t(replay_.growths.size() - 1)});
    replay_.changes.push_back({uint32_t(replay_.blocks.size() - 1), true});
    return uint32_t(replay_.blocks.size() - 1);
  }
  void free(uint32_t replay_block) { replay_.changes.push_back({replay_block, false}); }
  ReservedPeaks peaks() const { return reserved_peaks(replay_, {}); }

 private:
  Replay replay_;
};

TEST(Reserved, SegmentsByTheSizeOfTheRequest) {
  Requests small, large, own;
  small.make(100);
  large.make(2 * kMiB);
  own.make(11 * kMiB);
  EXPECT_EQ(small.peaks().reserved, 2 * kMiB);
  EXPECT_EQ(small.peaks().allocated, 512u);
  EXPECT_EQ(large.peaks().reserved, 20 * kMiB);
  EXPECT_EQ(own.peaks().reserved, 12 * kMiB);
  EXPECT_EQ(own.peaks().allocated, 12 * kMiB);  // a rest of 1 MiB is not cut off
}

TEST(Reserved, WhatIsFreedServesLaterRequests) {
  Requests requests;
  for (int i = 0; i < 10; ++i) requests.free(requests.make(8 * kMiB));
  EXPECT_EQ(requests.peaks().reserved, 20 * kMiB);
}

TEST(Reserved, NeighboursBecomeOneBlock) {
  Requests requests;
  const uint32_t first = requests.make(8 * kMiB), second = requests.make(8 * kMiB);
  requests.free(first);
  requests.free(second);
  requests.make(19.5 * kMiB);
  EXPECT_EQ(requests.peaks().reserved, 20 * kMiB);
}

TEST(Reserved, PiecesDoNot) {
  Requests requests;
  requests.free(requests.make(12 * kMiB));
  const uint32_t stays = requests.make(2 * kMiB);
  requests.make(11.5 * kMiB);  // 10 MiB are left of the first segment
  EXPECT_EQ(requests.peaks().reserved, 24 * kMiB);
  requests.free(stays);
  EXPECT_EQ(requests.peaks().reserved, 24 * kMiB);
}

}  // namespace

}  // namespace tensorscope::analyzer::forecast
