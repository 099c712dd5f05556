#include "timeline/timeline.h"

#include <gtest/gtest.h>

#include "../recording/recording_builder.h"

namespace tensorscope::analyzer {

namespace {

// Six steps of 1 ms; each allocates 100 bytes and frees them, the fourth 300; 1 byte stays of each.
RecordingBuilder six_steps() {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  std::vector<format::RecordedEvent> events;
  uint64_t serial = 0, ns = 10'000;
  for (uint64_t i = 0; i < 6; ++i) {
    events.push_back(step(i, serial, ns));
    events.push_back(allocated(++serial, 1, ns += 100'000));
    events.back().site = 1;
    const uint64_t temporary = ++serial;
    events.push_back(allocated(temporary, i == 3 ? 300 : 100, ns += 100'000));
    events.back().site = 2;
    events.push_back(freed(temporary, serial, ns += 300'000));
    ns += 500'000;
  }
  builder.events(1, serial, events);
  builder.end();
  return builder;
}

TEST(Timeline, PeakStepsChurnAndLifetimesAreExact) {
  const RecordingBuilder builder = six_steps();
  const MemoryTimeline timeline = read_timeline(builder.file(), 50);
  ASSERT_NE(timeline.curve(), nullptr);
  EXPECT_EQ(timeline.curve()->peak_bytes, 304u);
  EXPECT_EQ(timeline.curve()->peak_step, 3u);
  EXPECT_EQ(timeline.curve()->end_bytes, 6u);
  ASSERT_EQ(timeline.steps.size(), 6u);
  EXPECT_EQ(timeline.steps[0].bytes, 101u);
  EXPECT_EQ(timeline.steps[3].peak, 304u);
  EXPECT_EQ(timeline.steps[5].end_live, 6u);
  EXPECT_EQ(unusual_steps(timeline.steps), std::vector<size_t>{3});
  ASSERT_EQ(timeline.sites.size(), 2u);
  EXPECT_EQ(timeline.sites[0].site, 2u);
  EXPECT_EQ(timeline.sites[0].bytes, 800u);
  EXPECT_EQ(timeline.sites[0].short_lived, 800u);
  EXPECT_EQ(timeline.sites[0].live_at_peak, 300u);
  EXPECT_EQ(timeline.sites[1].live_at_end, 6u);
  EXPECT_EQ(timeline.lifetime_counts[0], 6u);
  EXPECT_EQ(timeline.lifetime_bytes[MemoryTimeline::kLifetimes - 1], 6u);
}

TEST(Timeline, TheHighestSpikeComesFirst) {
  const RecordingBuilder builder = six_steps();
  const MemoryTimeline timeline = read_timeline(builder.file(), 50);
  ASSERT_FALSE(timeline.spikes.empty());
  EXPECT_EQ(timeline.spikes[0].step, 3u);
  EXPECT_EQ(timeline.spikes[0].bytes, 300u);
  EXPECT_EQ(timeline.spikes[0].site, 2u);
}

TEST(Timeline, ACurveKeepsTheMostOfEachPart) {
  const RecordingBuilder builder = six_steps();
  const MemoryTimeline timeline = read_timeline(builder.file(), 3);
  const std::vector<uint64_t>& curve = timeline.curve()->highest;
  ASSERT_EQ(curve.size(), 3u);
  EXPECT_EQ(*std::max_element(curve.begin(), curve.end()), 304u);
}

TEST(Timeline, WithoutEventsNothingIsMadeUp) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  builder.end();
  const MemoryTimeline timeline = read_timeline(builder.file(), 10);
  EXPECT_EQ(timeline.curve(), nullptr);
  EXPECT_FALSE(timeline.steps_seen);
  EXPECT_TRUE(timeline.spikes.empty());
}

}  // namespace

}  // namespace tensorscope::analyzer
