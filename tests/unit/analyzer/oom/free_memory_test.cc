// SPDX-License-Identifier: Apache-2.0
#include "oom/free_memory.h"

#include <gtest/gtest.h>

#include "device_scene.h"

namespace tensorscope::analyzer::oom {
namespace {

using testing::DeviceScene;
using testing::kMiB;
using testing::Told;

constexpr auto kSmall = uint8_t(format::SegmentFlag::small);
constexpr auto kExpandable = uint8_t(format::SegmentFlag::expandable);

FreeMemory of(DeviceScene& scene) { return Told(scene).analysis.cached; }

TEST(FreeMemory, PiecesByPoolAndStream) {
  DeviceScene scene;
  scene.segment().block(kMiB);
  scene.piece(30 * kMiB);
  scene.block(kMiB);
  scene.piece(10 * kMiB);
  scene.segment(7).piece(5 * kMiB);
  scene.segment(0, 3).piece(4 * kMiB);
  scene.segment(0, 0, kSmall).piece(2 * kMiB);
  const FreeMemory cached = of(scene);
  EXPECT_TRUE(cached.known && cached.streams_known && cached.native);
  EXPECT_EQ(cached.bytes, 51 * kMiB);
  EXPECT_EQ(cached.largest(), 30 * kMiB);
  EXPECT_EQ(cached.streams, 2u);
  ASSERT_EQ(cached.parts.size(), 4u);
  EXPECT_EQ(cached.parts[0].bytes, 40 * kMiB);
  EXPECT_EQ(cached.parts[0].pieces, 2u);
  EXPECT_EQ(cached.parts[1].stream, 7u);
  EXPECT_TRUE(cached.parts[2].private_pool());
  EXPECT_TRUE(cached.parts[3].small);
  EXPECT_EQ(cached.returnable, 7 * kMiB);  // a private pool keeps its segments  // the three that nobody uses
}

TEST(FreeMemory, OfExpandableSegmentsWholePagesGoBack) {
  DeviceScene scene;
  scene.segment(0, 0, kExpandable).block(kMiB);
  scene.piece(50 * kMiB);  // pages of 20 MiB: 20 to 40 is whole
  EXPECT_EQ(of(scene).returnable, 20 * kMiB);
  EXPECT_TRUE(of(scene).expandable);
}

TEST(FreeMemory, TheSegmentForARequest) {
  FreeMemory native;
  native.native = true;
  EXPECT_EQ(segment_for(512, native), 2 * kMiB);
  EXPECT_EQ(segment_for(kMiB, native), 2 * kMiB);
  EXPECT_EQ(segment_for(kMiB + 512, native), 20 * kMiB);
  EXPECT_EQ(segment_for(10 * kMiB, native), 10 * kMiB);
  EXPECT_EQ(segment_for(11 * kMiB + 512, native), 12 * kMiB);
  native.expandable = true;
  EXPECT_EQ(segment_for(11 * kMiB, native), 20 * kMiB);
  EXPECT_EQ(segment_for(11 * kMiB, FreeMemory{}), 11 * kMiB);
  EXPECT_EQ(segment_for(UINT64_MAX, native), UINT64_MAX);
}

// 100 MiB are wanted; 4 are free at the driver.
struct Fit {
  explicit Fit(DeviceScene& scene)
      : told(scene), test(told.dump(), &told.dump().device_memory[0], told.analysis.cached, 100 * kMiB) {}
  Fits after(std::vector<uint32_t> allocations) {
    uint64_t bytes = 0;
    for (uint32_t i : allocations) bytes += told.dump().allocations[i].nbytes;
    return test.after(allocations, bytes);
  }
  Told told;
  FitTest test;
};

TEST(FitTest, PiecesThatTouchBecomeOne) {
  DeviceScene scene;
  scene.segment().piece(30 * kMiB);
  scene.block(60 * kMiB);
  scene.piece(10 * kMiB);
  scene.block(5 * kMiB);
  Fit fit(scene);
  EXPECT_EQ(fit.after({}), Fits::no);
  EXPECT_EQ(fit.after({0}), Fits::yes);
}

TEST(FitTest, APieceOfAnotherStreamIsNoPromise) {
  DeviceScene scene;
  scene.segment(5).piece(30 * kMiB);
  scene.block(70 * kMiB);
  scene.block(5 * kMiB);
  scene.segment(6).block(5 * kMiB);
  scene.piece(kMiB);
  Fit fit(scene);
  EXPECT_EQ(fit.after({0}), Fits::may);
}

TEST(FitTest, WholeSegmentsGoBackToTheDriver) {
  DeviceScene scene;
  scene.segment().block(50 * kMiB);
  scene.segment().block(46 * kMiB);
  scene.segment().block(45 * kMiB);
  Fit fit(scene);
  EXPECT_EQ(fit.after({0, 2}), Fits::no);
  EXPECT_EQ(fit.after({0, 1}), Fits::yes);
}

TEST(FitTest, EnoughInPiecesDoesNotDo) {
  DeviceScene scene;
  scene.segment().block(60 * kMiB);
  scene.block(kMiB);
  scene.segment().block(60 * kMiB);
  scene.block(kMiB);
  Fit fit(scene);
  EXPECT_EQ(fit.after({0}), Fits::no);
  EXPECT_EQ(fit.after({0, 2}), Fits::no);
  EXPECT_EQ(fit.test.missing(60 * kMiB), 36 * kMiB);
}

TEST(FitTest, AnotherAllocatorsRulesAreNotKnown) {
  DeviceScene scene;
  scene.memory.backend = "cudaMallocAsync";
  scene.segment().block(200 * kMiB);
  Fit fit(scene);
  EXPECT_EQ(fit.after({0}), Fits::may);
}

TEST(FitTest, WithoutTheDriversWordNothingIsSaid) {
  DeviceScene scene;
  scene.memory.driver_total = scene.memory.driver_free = 0;
  scene.segment().block(200 * kMiB);
  Fit fit(scene);
  EXPECT_EQ(fit.after({0}), Fits::unknown);
}

}  // namespace
}  // namespace tensorscope::analyzer::oom
