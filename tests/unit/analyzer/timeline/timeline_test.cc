// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/timeline/{timeline,memory_timeline,overview,details,spike_finder,fragmentation}.cc
#include "timeline/timeline.h"

#include <gtest/gtest.h>

#include "../recording/recording_builder.h"
#include "timeline/fragmentation.h"

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

// Sites 1 and 2 are lines 0 and 1; site 1 is on both.
TEST(Timeline, LinesHaveTheirOwnPeakAndWhatIsStillHeld) {
  const RecordingBuilder builder = six_steps();
  const MemoryTimeline timeline = read_timeline(builder.file(), 50, [](const MemoryTimeline& found) {
    EXPECT_EQ(found.peak().events, found.curve()->peak_events);
    return TimelineQuestions{nullptr, {{}, {0, 1}, {1}}, 2};
  });
  ASSERT_EQ(timeline.lines.size(), 2u);
  EXPECT_EQ(timeline.lines[0].peak, 6u);
  EXPECT_EQ(timeline.lines[0].live, 6u);
  EXPECT_EQ(timeline.lines[1].peak, 304u);
  EXPECT_EQ(timeline.lines[1].live, 6u);
  EXPECT_EQ(timeline.lines[1].live_at_peak, 304u);
  EXPECT_EQ(timeline.lines[1].allocations, 12u);
}

TEST(Timeline, ASpikeSaysWhatItConsistsOf) {
  const RecordingBuilder builder = six_steps();
  const MemoryTimeline timeline = read_timeline(builder.file(), 50);
  ASSERT_EQ(timeline.spikes[0].parts.size(), 2u);
  EXPECT_EQ(timeline.spikes[0].parts[0].site, 2u);
  EXPECT_EQ(timeline.spikes[0].parts[0].bytes, 300u);
}

TEST(Timeline, WhatIsUsualAroundAStepIsTheMedian) {
  const RecordingBuilder builder = six_steps();
  const MemoryTimeline timeline = read_timeline(builder.file(), 50);
  EXPECT_EQ(usual_step(timeline.steps, 3).bytes, 101u);
  EXPECT_EQ(usual_step(timeline.steps, 0).bytes, 101u);
}

Dump dump_with_sites(size_t sites) {
  Dump dump;
  dump.python_frames.resize(1);
  dump.sites.resize(sites);
  return dump;
}

TEST(Timeline, CategoriesAddUpToTheLiveBytes) {
  const RecordingBuilder builder = six_steps();
  const Dump dump = dump_with_sites(3);
  const MemoryCategories categories(dump, nullptr);
  const MemoryTimeline timeline = read_timeline(builder.file(), 50, [&](const MemoryTimeline&) {
    return TimelineQuestions{&categories, {}, 0};
  });
  const DeviceCurve& curve = *timeline.curve();
  ASSERT_EQ(curve.parts.size(), 50u);
  for (size_t i = 0; i < 50; ++i) {
    uint64_t sum = 0;
    for (const uint64_t bytes : curve.parts[i].categories) sum += bytes;
    EXPECT_EQ(sum, curve.highest[i]) << i;
  }
  EXPECT_EQ(curve.at_peak.categories[size_t(Category::unknown)], 304u);
  EXPECT_EQ(timeline.steps[3].at_peak.bytes, 304u);
}

// A segment of 1000 bytes with blocks at 500 to 700 and 800 to 900, and one of another library.
TEST(FreeMemory, GapsBetweenTheBlocksOfASegment) {
  LiveState state;
  const Device device = {1, 0};
  state.runtime_blocks[1] = {.pointer = 0x10000, .nbytes = 1000, .by_torch = true, .device = device};
  state.runtime_blocks[2] = {.pointer = 0x90000, .nbytes = 5000, .by_torch = false, .device = device};
  state.allocations[3] = {.pointer = 0x10000 + 500, .nbytes = 200, .device = device};
  state.allocations[4] = {.pointer = 0x10000 + 800, .nbytes = 100, .device = device};
  state.allocations[5] = {.pointer = 0x10000 + 300, .nbytes = 100, .device = {1, 1}};
  const FreeMemory found = free_memory(state, device);
  EXPECT_EQ(found.segments, 1u);
  EXPECT_EQ(found.reserved, 1000u);
  EXPECT_EQ(found.free, 700u);
  EXPECT_EQ(found.largest, 500u);
  EXPECT_NEAR(found.fragmentation(), 2.0 / 7, 1e-9);
  EXPECT_EQ(free_memory(state, Device{1, 1}).segments, 0u);
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
