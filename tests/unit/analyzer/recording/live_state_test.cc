// SPDX-License-Identifier: Apache-2.0
#include "recording/live_state.h"

#include <gtest/gtest.h>

#include "recording_builder.h"
#include "support/misaligned_rows.h"

namespace tensorscope::analyzer {

namespace {

struct Seen : RecordingVisitor {
  void segment(const format::RecordingSegment& s) override { state.begin(s); }
  void live_allocation(const format::Allocation& row) override { state.add(row); }
  void tensor(const format::Tensor& row, std::span<const int64_t>, bool begins) override {
    if (begins) state.add(row);
  }
  bool event(const format::RecordedEvent& e) override {
    state.apply(e);
    orders.push_back(e.order);
    return true;
  }
  LiveState state;
  std::vector<uint64_t> orders;
};

Seen replayed(const RecordingBuilder& builder, RecordingEnds* ends = nullptr) {
  Seen seen;
  const RecordingEnds got = builder.file().replay(seen);
  if (ends) *ends = got;
  return seen;
}

TEST(LiveState, WhatWasMadeAndNotFreedIsAlive) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  builder.events(1, 4, {allocated(1, 100), allocated(2, 50), freed(1, 2), allocated(3, 7), made(4)});
  builder.end();
  const Seen seen = replayed(builder);
  EXPECT_EQ(seen.state.allocations.size(), 2u);
  const DeviceTotal& cpu = seen.state.devices.at(kHost);
  EXPECT_EQ(cpu.live_bytes, 57u);
  EXPECT_EQ(cpu.peak_bytes, 150u);
  EXPECT_EQ(cpu.total_bytes, 157u);
  EXPECT_EQ(seen.state.tensors.size(), 1u);
}

TEST(LiveState, BlocksOfTheRuntimeAreKeptApart) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  const auto block = [](uint64_t serial, uint64_t nbytes) {
    format::RecordedEvent e = allocated(serial, nbytes);
    e.type = format::EventType::runtime_allocated;
    e.by_torch = serial % 2 == 0;
    return e;
  };
  const auto end = [](uint64_t serial, uint64_t order) {
    format::RecordedEvent e = freed(serial, order);
    e.type = format::EventType::runtime_freed;
    return e;
  };
  builder.events(1, 4, {block(1, 100), block(2, 50), end(1, 2), end(3, 2), block(3, 7), block(4, 9)});
  builder.end();
  const Seen seen = replayed(builder);
  ASSERT_EQ(seen.state.runtime_blocks.size(), 2u);
  EXPECT_EQ(seen.state.runtime_blocks.at(2).nbytes, 50u);
  EXPECT_TRUE(seen.state.runtime_blocks.at(2).by_torch);
  EXPECT_TRUE(seen.state.devices.empty()) << "they are no allocations";
  EXPECT_TRUE(seen.state.allocations.empty());
}

TEST(LiveState, EventsOfSeveralThreadsComeInTheOrderTheyHappened) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  // Two lanes of one flush, and an event of the first that was being written and came with the next flush.
  builder.events(1, 6, {allocated(1, 10), allocated(4, 40), freed(4, 5)});
  builder.events(1, 6, {freed(1, 1), allocated(2, 20), allocated(5, 50)});
  builder.events(2, 9, {allocated(3, 30), allocated(7, 70)});
  builder.end();
  RecordingEnds ends;
  const Seen seen = replayed(builder, &ends);
  EXPECT_EQ(seen.orders, (std::vector<uint64_t>{1, 1, 2, 3, 4, 5, 5, 7}));
  EXPECT_EQ(ends.late, 0u);
  EXPECT_TRUE(ends.ended);
  EXPECT_EQ(seen.state.devices.at(kHost).live_bytes, 170u);
}

TEST(LiveState, AFreeThatIsToldBeforeItsAllocationCounts) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  builder.events(1, 1, {allocated(1, 10)});
  builder.events(2, 2, {freed(9, 1)});
  builder.events(3, 9, {allocated(2, 20)});
  builder.events(4, 9, {allocated(9, 90)});
  builder.end();
  EXPECT_EQ(replayed(builder).state.devices.at(kHost).live_bytes, 30u);
}

TEST(LiveState, ASegmentBeginsWithWhatIsAliveAndPassesOverWhatWasBefore) {
  RecordingBuilder builder;
  builder.segment(10, 5000, 64);
  builder.allocations({format::Allocation(8, 0x8000, 64, 4000, 0, 0, 0, format::AllocationKind::heap, 0, 0, -1)});
  builder.events(1, 12, {allocated(9, 1000), freed(9, 10), allocated(11, 5), freed(8, 11)});
  builder.end();
  const Seen seen = replayed(builder);
  EXPECT_EQ(seen.state.devices.at(kHost).live_bytes, 5u);
  EXPECT_EQ(seen.state.devices.at(kHost).peak_bytes, 69u);
}

TEST(LiveState, AMalformedChunkIsSkippedAndSaid) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  builder.add(format::kAllocations, testing::payload_of_rows(0, sizeof(format::Allocation), 2, false));
  builder.events(1, 1, {allocated(1, 10)});
  builder.end();
  RecordingEnds ends;
  const Seen seen = replayed(builder, &ends);
  EXPECT_EQ(seen.state.allocations.size(), 1u);
  ASSERT_EQ(ends.problems.size(), 1u);
  EXPECT_EQ(ends.problems.front().substr(0, 27), "the 'allocations' chunk at ");
  EXPECT_NE(ends.problems.front().find("of x.recording is malformed; it was skipped."), std::string::npos);
}

TEST(LiveState, EventsThatCannotBeReadAreSaid) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  flatbuffers::FlatBufferBuilder buffer;
  const auto data = buffer.CreateVector(std::vector<uint8_t>{0xff, 0xff});
  builder.add(format::kEvents, buffer, format::CreateEvents(buffer, 1, 1, 5000, 9000, 1, data));
  builder.end();
  RecordingEnds ends;
  replayed(builder, &ends);
  ASSERT_EQ(ends.problems.size(), 1u);
  const std::string text =
      "left out of x.recording: 1 parts of events that cannot be read, in the 'events' chunk at byte ";
  EXPECT_EQ(ends.problems.front().substr(0, text.size()), text);
}

TEST(LiveState, OfAFileThatIsCutTheWholeChunksCount) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  builder.events(1, 1, {allocated(1, 10)});
  const size_t whole = builder.bytes().size();
  builder.events(2, 2, {allocated(2, 20)});
  builder.end();
  const std::string bytes = builder.bytes();
  for (size_t cut = whole; cut < bytes.size(); cut += 7) {
    Seen seen;
    const RecordingEnds ends = RecordingFile(wrap_memory(bytes.data(), cut), "x.recording").replay(seen);
    EXPECT_FALSE(ends.ended);
    EXPECT_TRUE(ends.problems.empty()) << ends.problems.front();
    EXPECT_GE(seen.state.allocations.size(), 1u);
  }
}

}  // namespace

}  // namespace tensorscope::analyzer
