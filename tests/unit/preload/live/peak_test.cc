// SPDX-License-Identifier: Apache-2.0
// Covers: preload/live/peak.cc preload/live/all_locks.cc
#include "live/peak.h"

#include <map>
#include <numeric>

#include "support/fresh_in_child.h"
#include "tracker_fixture.h"

namespace tensorscope::live {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr Device kCuda{1, 0};

// What is alive at the peak begins with what is alive by then: nothing of an earlier test.
class PeakTest : public RecorderTest {
 protected:
  void SetUp() override {
    RecorderTest::SetUp();
    FreshInChild::make_all_anew();
    after_fork_in_child();
  }

  void allocate(size_t i, uint64_t nbytes, StackId native) {
    t_fake_stack = {native, 0};
    cpu_allocated(fresh(i), nbytes);
  }

  // Bytes by native stack at the peak that was kept; their sum is the peak's, or the test fails.
  struct AtPeak {
    KeptPeak peak;
    std::map<StackId, uint64_t> bytes, allocations;
    std::map<StackId, std::map<PeakEnd, uint64_t>> gone;
  };
  static AtPeak at_peak() {
    SnapshotView view;
    EXPECT_TRUE(view.take());
    AtPeak found;
    found.peak = view.peak;
    uint64_t sum = 0;
    for (const SiteCounters& site : view.sites) {
      if (site.bytes_kept == 0) continue;
      found.bytes[site.native] += site.bytes_kept;
      found.allocations[site.native] += site.allocations_kept;
      sum += site.bytes_kept;
      for (size_t end = 0; end < kPeakEnds; ++end) {
        if (site.kept_gone[end] != 0) found.gone[site.native][PeakEnd(end)] = site.kept_gone[end];
      }
    }
    EXPECT_EQ(sum, view.peak.bytes);
    EXPECT_EQ(std::accumulate(std::begin(view.peak.devices), std::end(view.peak.devices), uint64_t{0}), sum);
    return found;
  }
};

using Bytes = std::map<StackId, uint64_t>;

TEST_F(PeakTest, ShowsWhatWasAliveThoughItIsFreed) {
  allocate(0, 8 * kMiB, 101);
  allocate(1, kMiB, 102);
  allocate(2, kMiB, 102);
  for (size_t i = 0; i < 3; ++i) cpu_freed(fresh(i));
  allocate(3, kMiB, 103);  // a new site, below the peak
  const AtPeak found = at_peak();
  EXPECT_EQ(found.bytes, (Bytes{{101, 8 * kMiB}, {102, 2 * kMiB}}));
  EXPECT_EQ(found.allocations, (Bytes{{101, 1}, {102, 2}}));
  EXPECT_NE(found.peak.ns, 0u);
  cpu_freed(fresh(3));
}

TEST_F(PeakTest, AHigherPeakTakesThePlaceOfTheOneBefore) {
  allocate(0, 8 * kMiB, 101);
  cpu_freed(fresh(0));
  allocate(0, 2 * kMiB, 101);
  allocate(1, 7 * kMiB, 102);
  EXPECT_EQ(at_peak().bytes, (Bytes{{101, 2 * kMiB}, {102, 7 * kMiB}})) << "nothing has changed since";
  cpu_freed(fresh(1));
  cpu_freed(fresh(0));
  EXPECT_EQ(at_peak().bytes, (Bytes{{101, 2 * kMiB}, {102, 7 * kMiB}}));
}

TEST_F(PeakTest, LessThanOnePercentMoreIsNoNewPeak) {
  allocate(0, 100 * kMiB, 101);
  allocate(1, kMiB, 102);
  EXPECT_EQ(at_peak().bytes, (Bytes{{101, 100 * kMiB}}));
  allocate(2, 1, 102);
  EXPECT_EQ(at_peak().bytes, (Bytes{{101, 100 * kMiB}, {102, kMiB + 1}}));
  for (size_t i = 0; i < 3; ++i) cpu_freed(fresh(i));
}

TEST_F(PeakTest, SmallSumsGrowBy64KiBAtLeast) {
  allocate(0, kMiB, 101);
  allocate(1, 64 << 10, 102);
  EXPECT_EQ(at_peak().bytes, (Bytes{{101, kMiB}}));
  allocate(2, 1, 102);
  EXPECT_EQ(at_peak().bytes, (Bytes{{101, kMiB}, {102, (64 << 10) + 1}}));
  for (size_t i = 0; i < 3; ++i) cpu_freed(fresh(i));
}

// One device falls while the other one rises: the peak is that of both together.
TEST_F(PeakTest, IsThatOfAllDevicesTogether) {
  allocate(0, 50 * kMiB, 101);
  t_fake_stack = {102, 0};
  memory_reported(fresh(1), int64_t(40 * kMiB), 0, 0, kCuda);
  cpu_freed(fresh(0));
  for (size_t i = 2; i < 30; ++i) allocate(i, kMiB, 103);
  EXPECT_EQ(at_peak().bytes, (Bytes{{101, 50 * kMiB}, {102, 40 * kMiB}}));
  for (size_t i = 30; i < 70; ++i) allocate(i, kMiB, 103);
  const AtPeak found = at_peak();
  EXPECT_EQ(found.bytes.count(101), 0u);
  EXPECT_GE(found.peak.bytes, (40 + 68) * kMiB * 985 / 1000);
  EXPECT_EQ(found.peak.devices[g_devices.slot(kCuda)], 40 * kMiB);
  t_fake_stack = {102, 0};
  memory_reported(fresh(1), -int64_t(40 * kMiB), 0, 0, kCuda);
  for (size_t i = 2; i < 70; ++i) cpu_freed(fresh(i));
}

// A step: what a forward pass makes, then a backward pass, then a forward pass that ends the step.
TEST_F(PeakTest, ShowsHowWhatWasAliveIsFreed) {
  const void* node = nullptr;  // as the first word of a node, which is read: its vtable
  const void* other = nullptr;
  constexpr StackId kBackward = kFakeBackward, kProgram = 8;
  const auto free_at = [&](size_t i, StackId python) {
    t_fake_stack = {1, python};
    cpu_freed(fresh(i));
  };
  allocate(0, kMiB, 101);  // a parameter
  allocate(1, kMiB, 102);  // needed by the forward pass alone
  allocate(2, kMiB, 103);  // saved for the backward pass
  allocate(3, kMiB, 104);  // a result that the program keeps
  gradient_edge_set(fresh(90), &node);
  t_running_node = &node;
  for (const size_t i : {4, 5}) {
    t_fake_stack = {StackId(101 + i), kBackward};
    cpu_allocated(fresh(i), kMiB);
  }
  t_running_node = nullptr;
  allocate(6, 20 * kMiB, 107);  // the peak, in which all of these are alive; what the optimizer makes
  EXPECT_EQ(at_peak().bytes.size(), 7u);
  EXPECT_EQ(at_peak().gone.size(), 0u);
  free_at(4, kBackward);
  free_at(2, kBackward);
  free_at(5, kProgram);
  free_at(3, kProgram);
  free_at(6, kProgram);
  gradient_edge_set(fresh(91), &other);  // ends the step
  free_at(0, kProgram);
  using enum PeakEnd;
  const std::map<StackId, std::map<PeakEnd, uint64_t>> expected = {{101, {{later_step, kMiB}}},
                                                                   {103, {{in_backward, kMiB}}},
                                                                   {105, {{of_backward, kMiB}}},
                                                                   {106, {{after_backward, kMiB}}},
                                                                   {107, {{before_backward, 20 * kMiB}}}};
  EXPECT_EQ(at_peak().gone, expected) << "102 is alive; the program may hold 104 for any reason";
  cpu_freed(fresh(1));
  for (const void* gone : {static_cast<const void*>(&node), static_cast<const void*>(&other)}) node_destroyed(gone);
}

TEST_F(PeakTest, HowItIsFreedBelongsToOnePeak) {
  allocate(0, kMiB, 101);
  allocate(1, kMiB, 101);
  cpu_freed(fresh(0));
  EXPECT_EQ(at_peak().gone[101][PeakEnd::before_backward], kMiB);
  allocate(2, 4 * kMiB, 102);
  EXPECT_EQ(at_peak().gone.size(), 0u) << "of the one MiB that is alive at this peak nothing is freed";
  cpu_freed(fresh(1));
  EXPECT_EQ(at_peak().gone[101][PeakEnd::before_backward], kMiB);
  allocate(3, 64, 101);
  cpu_freed(fresh(3));
  EXPECT_EQ(at_peak().gone[101][PeakEnd::before_backward], kMiB) << "made after the peak";
  cpu_freed(fresh(2));
}

TEST_F(PeakTest, AForkedChildBeginsWithWhatIsAlive) {
  allocate(0, 50 * kMiB, 101);
  allocate(1, kMiB, 102);
  cpu_freed(fresh(0));
  FreshInChild::make_all_anew();
  after_fork_in_child();
  EXPECT_EQ(at_peak().bytes, (Bytes{{102, kMiB}}));
  allocate(0, 2 * kMiB, 103);
  cpu_freed(fresh(0));
  cpu_freed(fresh(1));
  EXPECT_EQ(at_peak().bytes, (Bytes{{102, kMiB}, {103, 2 * kMiB}}));
}

}  // namespace
}  // namespace tensorscope::live
