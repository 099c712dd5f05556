// SPDX-License-Identifier: Apache-2.0
// What is noted is read once, in the order of each thread, or counted as lost.
// Covers: preload/live/event_log.cc
#include "live/event_log.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "live/thread_table.h"
#include "support/fresh_in_child.h"

namespace tensorscope::live {
namespace {

constexpr size_t kPlenty = size_t{256} << 20;

Event event_of(ThreadId thread, uint64_t number) {
  Event event{};
  event.thread = thread;
  event.serial = number;
  return event;
}

// Everything up to this moment, by thread.
class Reading {
 public:
  void read() {
    std::array<EventsEnd, kEventLanes> ends;
    for (unsigned lane = 0; lane < kEventLanes; ++lane) ends[lane] = events_end(lane);
    for (unsigned lane = 0; lane < kEventLanes; ++lane) {
      for (EventSpan span; (span = next_events(lane, ends[lane])).count != 0;) {
        for (size_t i = 0; i < span.count; ++i) add(span.first[i]);
      }
    }
  }
  size_t total() const { return total_; }
  bool in_order() const { return in_order_; }

 private:
  void add(const Event& event) {
    if (event.thread >= next_.size()) next_.resize(event.thread + 1);
    in_order_ = in_order_ && event.serial == next_[event.thread];
    next_[event.thread] = event.serial + 1;
    ++total_;
  }

  std::vector<uint64_t> next_;
  size_t total_ = 0;
  bool in_order_ = true;
};

class EventLogTest : public testing::Test {
 protected:
  void SetUp() override {
    FreshInChild::make_all_anew();
    want_events(kPlenty, nullptr);
  }
  void TearDown() override { want_no_events(); }
};

void note(ThreadId thread, uint64_t number) {
  const Event event = event_of(thread, number);
  note_events(&event, 1);
}

TEST_F(EventLogTest, EventsOfOneThreadComeInOrderOverManyBlocks) {
  Reading reading;
  for (uint64_t i = 0; i < 3 * EventBlock::kEvents + 7; ++i) {
    note(1, i);
    if (i % 1000 == 0) reading.read();
  }
  reading.read();
  reading.read();
  EXPECT_EQ(reading.total(), 3 * EventBlock::kEvents + 7);
  EXPECT_TRUE(reading.in_order());
  EXPECT_EQ(lost_events(), 0u);
}

TEST_F(EventLogTest, WhatComesAfterTheEndIsLeftForTheNextTime) {
  note(1, 0);
  const EventsEnd end = events_end(1 % kOwnEventLanes);
  note(1, 1);
  EXPECT_EQ(next_events(1 % kOwnEventLanes, end).count, 1u);
  EXPECT_EQ(next_events(1 % kOwnEventLanes, end).count, 0u);
  EXPECT_EQ(next_events(1 % kOwnEventLanes, events_end(1 % kOwnEventLanes)).first->serial, 1u);
}

TEST_F(EventLogTest, EventsThatBelongTogetherLieTogether) {
  for (uint64_t i = 0; i < EventBlock::kEvents - 1; ++i) note(1, i);
  const std::array<Event, 3> events = {event_of(1, 7), event_of(1, 8), event_of(1, 9)};
  note_events(events.data(), events.size());
  const unsigned lane = 1 % kOwnEventLanes;
  const EventsEnd end = events_end(lane);
  EXPECT_EQ(next_events(lane, end).count, EventBlock::kEvents - 1);
  EXPECT_EQ(next_events(lane, end).count, 3u);
}

// More threads than lanes of their own: the others share. Threads of one name share a number, too.
TEST_F(EventLogTest, ManyThreadsLoseNothingWhileTheyAreRead) {
  constexpr unsigned kThreads = 2 * kOwnEventLanes + 3;
  constexpr uint64_t kEach = 4000;
  std::atomic<unsigned> running{kThreads};
  std::vector<std::thread> threads;
  for (unsigned t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&running, t] {
      for (uint64_t i = 0; i < kEach; ++i) note(t, i);
      --running;
    });
  }
  Reading reading;
  while (running != 0) reading.read();
  for (std::thread& thread : threads) thread.join();
  reading.read();
  EXPECT_EQ(reading.total(), kThreads * kEach);
  EXPECT_TRUE(reading.in_order());
  EXPECT_EQ(lost_events(), 0u);
}

TEST_F(EventLogTest, ThreadsOfOneNumberShareALane) {
  const auto shared = ThreadId(ThreadTable::kOwnRows);
  constexpr uint64_t kEach = 20000;
  std::thread first([&] {
    for (uint64_t i = 0; i < kEach; ++i) note(shared, 0);
  });
  for (uint64_t i = 0; i < kEach; ++i) note(shared, 0);
  first.join();
  Reading reading;
  reading.read();
  EXPECT_EQ(reading.total(), 2 * kEach);
}

TEST_F(EventLogTest, WhatDoesNotFitIsCounted) {
  want_events(2 * EventBlock::kBytes, nullptr);
  for (uint64_t i = 0; i < 3 * EventBlock::kEvents; ++i) note(1, i);
  EXPECT_EQ(lost_events(), EventBlock::kEvents);
  Reading reading;
  reading.read();
  EXPECT_EQ(reading.total(), 2 * EventBlock::kEvents);
  note(1, 0);  // there is room again
  EXPECT_EQ(lost_events(), EventBlock::kEvents);
}

}  // namespace
}  // namespace tensorscope::live
