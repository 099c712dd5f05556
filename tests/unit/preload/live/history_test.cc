// SPDX-License-Identifier: Apache-2.0
// Covers: preload/live/history.cc
#include "live/history.h"

#include <vector>

#include "live/device_table.h"
#include "live/step_marks.h"
#include "support/fresh_in_child.h"
#include "tracker_fixture.h"

namespace tensorscope::live {
namespace {

constexpr Device kCuda{1, 0};

HistoryPoint moment(MomentKind kind, uint64_t number) {
  HistoryPoint point;
  point.ns = number;
  point.step = number;
  point.kind = kind;
  point.devices[0] = {.live = number * 10, .peak = number % 7, .allocated = number * 100};
  return point;
}

TEST(HistoryRing, WhenItIsFullEachTwoPointsBecomeOne) {
  std::vector<HistoryPoint> points(kHistoryPoints);
  HistoryRing ring(points.data());
  uint64_t next = 1;
  const auto add_up_to = [&](uint64_t last) {
    for (; next <= last; ++next) ring.add(moment(MomentKind::step, next));
  };
  add_up_to(kHistoryPoints);
  EXPECT_EQ(ring.size(), kHistoryPoints);
  EXPECT_EQ(ring.every(), 1u);
  for (uint32_t every : {2u, 4u, 8u}) {
    add_up_to(kHistoryPoints * every / 2 + 1);
    ASSERT_EQ(ring.every(), every);
    ASSERT_EQ(ring.size(), kHistoryPoints / 2 + 1);
    uint64_t moments = 0;
    for (size_t i = 0; i < kHistoryPoints / 2; ++i) {
      ASSERT_EQ(ring[i].moments, every);
      ASSERT_EQ(ring[i].step, (i + 1) * every);
      ASSERT_EQ(ring[i].devices[0].live, (i + 1) * every * 10);
      ASSERT_EQ(ring[i].devices[0].allocated, (i + 1) * every * 100);
      moments += ring[i].moments;
    }
    EXPECT_EQ(ring[kHistoryPoints / 2].moments, 1u);
    EXPECT_EQ(moments + 1, kHistoryPoints * every / 2 + 1);
  }
}

TEST(HistoryRing, APointKeepsTheHighestPeakAndTheLastLevels) {
  HistoryPoint point = moment(MomentKind::step, 6);  // peak 6
  point.resident = 3;
  point.add(moment(MomentKind::step, 8));  // peak 1
  EXPECT_EQ(point.moments, 2u);
  EXPECT_EQ(point.devices[0].peak, 6u);
  EXPECT_EQ(point.devices[0].live, 80u);
  EXPECT_EQ(point.resident, 3u) << "the last that is known";
}

TEST(HistoryRing, TheEndOfAStepCountsMoreThanALaterSecond) {
  HistoryPoint point = moment(MomentKind::step, 8);
  point.add(moment(MomentKind::second, 13));  // peak 6
  EXPECT_EQ(point.kind, MomentKind::step);
  EXPECT_EQ(point.devices[0].live, 80u);
  EXPECT_EQ(point.devices[0].peak, 6u);
  HistoryPoint seconds = moment(MomentKind::second, 1);
  seconds.add(moment(MomentKind::second, 2));
  EXPECT_EQ(seconds.devices[0].live, 20u);
  seconds.add(moment(MomentKind::step, 3));
  EXPECT_EQ(seconds.kind, MomentKind::step);
  EXPECT_EQ(seconds.moments, 3u);
}

class HistoryTest : public RecorderTest {
 protected:
  void SetUp() override {
    RecorderTest::SetUp();
    FreshInChild::make_all_anew();
  }
};

TEST_F(HistoryTest, AStepHasWhatWasAllocatedAndItsPeak) {
  SnapshotView before;
  ASSERT_TRUE(before.take());
  ASSERT_EQ(before.history.size, 1u) << "the dump itself";
  const HistoryLevels first = before.history.points[0].devices[0];
  cpu_allocated(fresh(0), 1000);
  cpu_allocated(fresh(1), 500);
  cpu_freed(fresh(1));
  step_ended(StepSource::backward);
  cpu_allocated(fresh(1), 20);
  cpu_freed(fresh(0));
  memory_reported(fresh(2), 4096, 4096, 8192, kCuda);
  step_ended(StepSource::backward);
  cpu_freed(fresh(1));
  memory_reported(fresh(2), -4096, 0, 8192, kCuda);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  ASSERT_EQ(view.history.size, 3u);
  EXPECT_GE(view.history.devices, 2u);
  EXPECT_EQ(view.history.devices_left_out, 0u);
  const HistoryPoint* const points = view.history.points;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(points[i].step, i < 2 ? i + 1 : 2);
    EXPECT_EQ(points[i].source, StepSource::backward);
    EXPECT_EQ(points[i].kind, i < 2 ? MomentKind::step : MomentKind::dump);
    EXPECT_EQ(points[i].resident, 0u) << "nobody has read it";
  }
  const auto expect_levels = [&](size_t i, size_t device, HistoryLevels levels) {
    EXPECT_EQ(points[i].devices[device].live, levels.live) << i;
    EXPECT_EQ(points[i].devices[device].peak, levels.peak) << i;
    EXPECT_EQ(points[i].devices[device].allocated, levels.allocated) << i;
  };
  expect_levels(0, 0, {first.live + 1000, first.live + 1500, first.allocated + 1500});
  expect_levels(1, 0, {first.live + 20, first.live + 1020, first.allocated + 1520});
  expect_levels(2, 0, {first.live, first.live + 20, first.allocated + 1520});
  const size_t cuda = g_devices.slot(kCuda);
  const uint64_t cuda_before = points[0].devices[cuda].allocated;
  expect_levels(1, cuda, {4096, 4096, cuda_before + 4096});
  expect_levels(2, cuda, {0, 4096, cuda_before + 4096});
}

TEST_F(HistoryTest, ASecondAddsAMomentOnlyWithoutAStep) {
  history_second([]() -> uint64_t { return 4096; });
  SnapshotView view;
  ASSERT_TRUE(view.take());
  ASSERT_EQ(view.history.size, 2u);
  EXPECT_EQ(view.history.points[0].kind, MomentKind::second);
  EXPECT_EQ(view.history.points[0].source, StepSource::none);
  EXPECT_EQ(view.history.points[0].resident, 4096u);
  history_second([]() -> uint64_t { return 8192; });
  SnapshotView soon;
  ASSERT_TRUE(soon.take());
  EXPECT_EQ(soon.history.size, 2u);
  EXPECT_EQ(soon.history.points[1].resident, 4096u);
}

TEST_F(HistoryTest, AForkedChildBeginsAnew) {
  step_ended(StepSource::backward);
  before_fork();
  after_fork_in_parent();
  FreshInChild::make_all_anew();
  after_fork_in_child();
  SnapshotView view;
  ASSERT_TRUE(view.take());
  ASSERT_EQ(view.history.size, 1u);
  const HistoryLevels& now = view.history.points[0].devices[0];
  EXPECT_EQ(now.peak, now.live);
  EXPECT_EQ(now.allocated, now.live);
}

}  // namespace
}  // namespace tensorscope::live
