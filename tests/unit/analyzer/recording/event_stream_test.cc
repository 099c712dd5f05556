// SPDX-License-Identifier: Apache-2.0
#include "tensorscope/event_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "recording_builder.h"

namespace tensorscope::analyzer {

namespace {

using format::EventType;
using format::RecordedEvent;

std::vector<RecordedEvent> random_events(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  constexpr EventType kTypes[] = {EventType::allocated,         EventType::freed,         EventType::tensor_made,
                                  EventType::tensor_released,   EventType::tensor_gone,   EventType::disregarded,
                                  EventType::device_reported,   EventType::step,          EventType::failure,
                                  EventType::runtime_allocated, EventType::runtime_freed, EventType::tensor_seen};
  std::vector<RecordedEvent> events(count);
  uint64_t order = 1;
  for (RecordedEvent& e : events) {
    e.type = kTypes[random() % std::size(kTypes)];
    order += random() % 3;
    e.order = order - (random() % 50 == 0 ? order / 2 : 0);
    e.serial = e.makes() ? e.order : e.order - random() % (e.order + 1);
    if (e.type == EventType::device_reported || e.type == EventType::step || e.type == EventType::failure) {
      e.serial = e.order;
    }
    e.ns = 5000 + random() % 1'000'000'000;
    e.thread = uint32_t(random() % 3);
    const bool has_site = e.makes();
    e.site = has_site ? uint32_t(random() % 1000) : 0;
    if (e.type == EventType::allocated) {
      e.pointer = random() & ~uint64_t{random() % 2 ? 15u : 0u};
      e.nbytes = random() >> (random() % 64);
      e.node = random() % 2 ? 0 : e.order / 2 + 1;
      e.memory_kind = uint8_t(random() % 4);
    }
    if (e.type == EventType::runtime_allocated) {
      e.pointer = random();
      e.nbytes = random() >> (random() % 64);
      e.memory_kind = uint8_t(random() % 5);
      e.by_torch = random() % 2 != 0;
    }
    if (e.type == EventType::tensor_made) e.pointer = random();
    if (e.type == EventType::allocated || e.type == EventType::device_reported || e.type == EventType::failure ||
        e.type == EventType::runtime_allocated) {
      e.device_type = int8_t(random() % 2);
      e.device_index = int8_t(random() % 3) - 1;
    }
    if (e.type == EventType::failure) e.nbytes = random();
    if (e.type == EventType::device_reported || e.type == EventType::step) e.number = random(), e.pass = random();
    if (e.type == EventType::step) e.mode = uint8_t(random() % 3);
    const bool seen = e.type == EventType::tensor_seen;
    if (seen || (e.type == EventType::tensor_released && random() % 4 != 0)) {
      e.known = true;
      e.dtype = int8_t(random() % 8);
      e.with_strides = seen && random() % 2 != 0;
      e.ndim = random() % (format::kMaxEventSizes / (e.with_strides ? 2 : 1) + 1);
      for (size_t i = 0; i < e.extents(); ++i) e.sizes[i] = int64_t(random() % 9);
      if (seen)
        e.offset = int64_t(random() >> 1), e.tensor_flags = uint32_t(random()), e.tensor_known = uint32_t(random());
      e.pointer = random();
      e.nbytes = random() % 100;
    }
  }
  return events;
}

TEST(EventStream, WhatWasEncodedIsDecoded) {
  const std::vector<RecordedEvent> events = random_events(20'000, 7);
  format::EventEncoder encoder(5000, rules::element_size);
  std::vector<uint8_t> data(events.size() * format::kMaxEventBytes);
  uint8_t* end = data.data();
  for (const RecordedEvent& e : events) end = encoder.encode(e, end);

  format::EventDecoder decoder(data.data(), size_t(end - data.data()), 5000, rules::element_size);
  RecordedEvent e;
  for (const RecordedEvent& expected : events) {
    ASSERT_TRUE(decoder.next(e));
    ASSERT_EQ(e.type, expected.type);
    ASSERT_EQ(e.order, expected.order);
    ASSERT_EQ(e.serial, expected.serial);
    ASSERT_EQ(e.ns, expected.ns);
    ASSERT_EQ(e.thread, expected.thread);
    ASSERT_EQ(e.by_torch, expected.by_torch);
    if (e.makes()) {
      ASSERT_EQ(e.site, expected.site);
    }
    ASSERT_EQ(e.pointer, expected.pointer);  // 0 where an event has none, whatever came before it
    ASSERT_EQ(e.nbytes, expected.nbytes);
    ASSERT_EQ(e.node, expected.node);
    if (e.type == EventType::allocated) {
      ASSERT_EQ(e.memory_kind, expected.memory_kind);
      ASSERT_EQ(e.device_type, expected.device_type);
      ASSERT_EQ(e.device_index, expected.device_index);
    }
    if (e.type == EventType::step || e.type == EventType::device_reported) {
      ASSERT_EQ(e.number, expected.number);
      ASSERT_EQ(e.pass, expected.pass);
    }
    if (e.type == EventType::step) {
      ASSERT_EQ(e.mode, expected.mode);
    }
    if (e.type == EventType::tensor_released || e.type == EventType::tensor_seen) {
      ASSERT_EQ(e.known, expected.known);
      if (!e.known) continue;
      ASSERT_EQ(e.dtype, expected.dtype);
      ASSERT_EQ(e.with_strides, expected.with_strides);
      ASSERT_EQ(e.ndim, expected.ndim);
      for (size_t i = 0; i < e.extents(); ++i) {
        ASSERT_EQ(e.sizes[i], expected.sizes[i]);
      }
      if (e.type == EventType::tensor_seen) {
        ASSERT_EQ(e.offset, expected.offset);
        ASSERT_EQ(e.tensor_flags, expected.tensor_flags);
        ASSERT_EQ(e.tensor_known, expected.tensor_known);
      }
    }
  }
  EXPECT_FALSE(decoder.next(e));
  EXPECT_FALSE(decoder.damaged());
}

TEST(EventStream, CutAnywhereOrWithAnyByteChangedItEnds) {
  const std::vector<RecordedEvent> events = random_events(60, 11);
  format::EventEncoder encoder(0, rules::element_size);
  std::vector<uint8_t> data(events.size() * format::kMaxEventBytes);
  uint8_t* end = data.data();
  for (const RecordedEvent& e : events) end = encoder.encode(e, end);
  data.resize(size_t(end - data.data()));
  for (size_t cut = 0; cut < data.size(); ++cut) {
    const std::vector<uint8_t> part(data.begin(), data.begin() + ptrdiff_t(cut));
    format::EventDecoder decoder(part.data(), part.size(), 0, rules::element_size);
    RecordedEvent e;
    size_t count = 0;
    while (decoder.next(e)) ++count;
    EXPECT_LE(count, events.size());
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> changed = data;
      changed[cut] ^= uint8_t(1 << bit);
      format::EventDecoder other(changed.data(), changed.size(), 0, rules::element_size);
      for (count = 0; other.next(e); ++count) ASSERT_LE(e.ndim, format::kMaxEventSizes);
      EXPECT_LE(count, data.size());
    }
  }
}

TEST(EventStream, AnEventOfATrainingStepTakesFewBytes) {
  format::EventEncoder encoder(0, rules::element_size);
  std::vector<uint8_t> data(4 * format::kMaxEventBytes);
  uint8_t* end = encoder.encode(allocated(1'000'000, 65536, 1'000), data.data());
  const uint8_t* const begin = end;
  RecordedEvent second = allocated(1'000'002, 65536, 2'000);
  second.pointer = uint64_t{1'000'000} * 0x1000 + 65536;
  end = encoder.encode(second, end);
  end = encoder.encode(freed(1'000'000, 1'000'002, 3'000), end);
  EXPECT_LE(end - begin, 2 * 12);
}

}  // namespace

}  // namespace tensorscope::analyzer
