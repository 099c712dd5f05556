// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/recording/{moment,replay_to_moment,recorded_tables,recording_file,tensor_facts}.cc
#include "recording/moment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "dump/reader.h"
#include "recording_builder.h"

namespace tensorscope::analyzer {

namespace {

using ::testing::HasSubstr;

RecordingBuilder three_steps() {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  builder.events(1, 9,
                 {step(0, 0, 5100), allocated(1, 100, 5200), made(2, 5300), allocated(3, 400, 5400), freed(3, 3, 5500),
                  step(1, 3, 5600), allocated(4, 50, 5700), allocated(5, 60, 5800), freed(5, 5, 5900), step(2, 5, 6000),
                  allocated(6, 7, 6100)});
  builder.end();
  return builder;
}

uint64_t live_at(const RecordingBuilder& builder, const char* name) {
  const RecordingFile file = builder.file();
  const Dump dump = dump_at(file, "x.recording", find_moment(file, *read_moment_name(name)));
  EXPECT_TRUE(dump.complete) << (dump.problems.empty() ? "" : dump.problems.front());
  uint64_t bytes = 0;
  for (const Allocation& a : dump.allocations) bytes += a.nbytes;
  EXPECT_EQ(dump.totals.devices.at(0).live_bytes, bytes);
  return bytes;
}

TEST(MomentName, IsReadAsItIsWritten) {
  EXPECT_EQ(read_moment_name("peak")->what, MomentName::What::peak);
  EXPECT_EQ(read_moment_name("12.5s")->ns, 12'500'000'000u);
  EXPECT_EQ(read_moment_name("3ms")->ns, 3'000'000u);
  EXPECT_EQ(read_moment_name("step=40")->step, 40u);
  EXPECT_EQ(read_moment_name("step=40:peak")->what, MomentName::What::step_peak);
  for (const char* wrong : {"", "noon", "step=", "step=-1", "step=1:end", "s", "-1s", "nans", "1e99s", "12"}) {
    EXPECT_FALSE(read_moment_name(wrong)) << wrong;
  }
}

TEST(Moment, TheLiveSetIsThatOfTheMoment) {
  const RecordingBuilder builder = three_steps();
  EXPECT_EQ(live_at(builder, "peak"), 500u);
  EXPECT_EQ(live_at(builder, "step=0"), 100u);
  EXPECT_EQ(live_at(builder, "step=0:peak"), 500u);
  EXPECT_EQ(live_at(builder, "step=1:peak"), 210u);
  EXPECT_EQ(live_at(builder, "step=1"), 150u);
  EXPECT_EQ(live_at(builder, "step=2"), 157u);
  EXPECT_EQ(live_at(builder, "end"), 157u);
  EXPECT_EQ(live_at(builder, "0.0000044s"), 500u);  // 4.4 us after the start at 1 us
}

TEST(Moment, WhatTheRecordingDoesNotHaveIsSaid) {
  const RecordingBuilder builder = three_steps();
  const RecordingFile file = builder.file();
  const auto message = [&](const char* name) {
    try {
      find_moment(file, *read_moment_name(name));
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message("step=9"), HasSubstr("has steps 0 to 2"));
  EXPECT_THAT(message("oom"), HasSubstr("no failed allocation"));
  EXPECT_THAT(message("12s"), HasSubstr("ends 0.0 s after the start"));
}

// Each bit of the events changed, with a checksum that is right again: nothing to rely on but what is looked at.
TEST(Moment, EventsThatLieAreShownOrRefused) {
  RecordingBuilder builder = three_steps();
  const std::string whole = builder.bytes();
  size_t at = sizeof(format::FileHeader);
  format::ChunkHeader header;
  for (;;) {
    std::memcpy(&header, whole.data() + at, sizeof header);
    if (header.type == format::kEvents) break;
    at += sizeof header + header.length + format::padding(header.length);
  }
  for (size_t i = 0; i < header.length * 8; ++i) {
    std::string bytes = whole;
    bytes[at + sizeof header + i / 8] ^= char(1 << (i % 8));
    header.checksum = format::chunk_checksum({header.type, 0, header.length, 0}, bytes.data() + at + sizeof header);
    std::memcpy(bytes.data() + at, &header, sizeof header);
    const RecordingFile file(wrap_memory(bytes.data(), bytes.size()), "x.recording");
    for (const char* name : {"end", "peak"}) {
      try {
        dump_at(file, "x.recording", find_moment(file, *read_moment_name(name)));
      } catch (const BadInput&) {
      }
    }
  }
}

TEST(Moment, ATensorIsWhatItsEndSays) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  format::RecordedEvent released = ended(format::EventType::tensor_released, 2, 4, 6000);
  released.known = true;
  released.dtype = 6;
  released.device_type = 0;
  released.ndim = 2;
  released.sizes[0] = 3;
  released.sizes[1] = 5;
  released.pointer = 0x1000;
  released.nbytes = 60;
  builder.events(1, 4,
                 {allocated(1, 64, 5200), made(2, 5300), allocated(3, 900, 5400), freed(3, 3, 5500), released,
                  ended(format::EventType::tensor_gone, 2, 4, 6000), freed(1, 4, 6000)});
  builder.end();
  const RecordingFile file = builder.file();
  const Dump dump = dump_at(file, "x.recording", find_moment(file, *read_moment_name("peak")));
  ASSERT_EQ(dump.tensors.size(), 1u);
  EXPECT_EQ(dump.tensors[0].shape_text(), "[3, 5]");
  EXPECT_EQ(dump.tensors[0].dtype_text(), "float32");
  EXPECT_EQ(dump.process.dump_ns, 5400u);
  EXPECT_EQ(dump.tensors[0].created_ns, 5300u);
  ASSERT_EQ(dump.storages.size(), 1u);
  EXPECT_EQ(dump.storages[0].nbytes, 60u);
  EXPECT_EQ(dump.storages[0].allocation, 0u);
}

// A float tensor of so many elements whose storage begins at `pointer`.
format::RecordedEvent seen(uint64_t serial, uint64_t order, uint64_t ns, uint64_t pointer, int64_t elements) {
  format::RecordedEvent e = ended(format::EventType::tensor_seen, serial, order, ns);
  e.known = true;
  e.dtype = 6;
  e.device_type = 0;
  e.ndim = 1;
  e.sizes[0] = elements;
  e.pointer = pointer;
  e.nbytes = uint64_t(elements) * 4;
  return e;
}

format::RecordedEvent at(format::RecordedEvent event, uint64_t pointer) {
  event.pointer = pointer;
  return event;
}

TEST(Moment, ATensorIsWhatWasSeenLast) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  builder.events(1, 3,
                 {at(allocated(1, 40, 5100), 0x1000), made(2, 5200), seen(2, 2, 5300, 0x1000, 10),
                  at(allocated(3, 80, 5400), 0x2000), seen(2, 3, 5500, 0x2000, 20), freed(1, 3, 5600)});
  builder.end();
  const RecordingFile file = builder.file();
  const auto shape = [&](uint64_t events) {
    const Dump dump = dump_at(file, "x.recording", {events, 5000 + events});
    return dump.tensors.at(0).shape_text();
  };
  EXPECT_EQ(shape(2), "[10]");  // first seen afterwards
  EXPECT_EQ(shape(3), "[10]");
  EXPECT_EQ(shape(5), "[20]");
  const Dump last = dump_at(file, "x.recording", {6, 5600});
  ASSERT_EQ(last.storages.size(), 1u);
  EXPECT_EQ(last.storages[0].nbytes, 80u);
  EXPECT_EQ(last.tensors[0].class_name, "c10::TensorImpl");
}

// Its memory is freed and other memory allocated, and it is seen again only then.
TEST(Moment, MemoryThatWasFreedIsNoTensorsStorage) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  builder.events(1, 3,
                 {at(allocated(1, 40, 5100), 0x1000), made(2, 5200), seen(2, 2, 5300, 0x1000, 10), freed(1, 2, 5400),
                  at(allocated(3, 80, 5500), 0x2000), seen(2, 3, 5600, 0x2000, 20)});
  builder.end();
  const RecordingFile file = builder.file();
  const Dump without = dump_at(file, "x.recording", {4, 5400});
  EXPECT_EQ(without.tensors.at(0).storage, kNone);
  EXPECT_EQ(without.storages.size(), 0u);
  const Dump after = dump_at(file, "x.recording", {5, 5500});
  ASSERT_EQ(after.storages.size(), 1u);
  EXPECT_EQ(after.storages[0].nbytes, 80u);
  EXPECT_EQ(after.tensors.at(0).shape_text(), "[20]");
}

// It is seen for the first time only when it has other memory than at the moment: the block of then is not known.
TEST(Moment, MemoryOfLaterIsNoTensorsStorage) {
  for (const uint64_t then : {0x1000, 0x2000}) {  // nothing lies where the later block will, or another block does
    RecordingBuilder builder;
    builder.segment(0, 5000);
    builder.events(1, 3,
                   {at(allocated(1, 40, 5100), then), made(2, 5200), freed(1, 2, 5400),
                    at(allocated(3, 80, 5500), 0x2000), seen(2, 3, 5600, 0x2000, 20)});
    builder.end();
    const RecordingFile file = builder.file();
    const Dump before = dump_at(file, "x.recording", {2, 5200});
    EXPECT_EQ(before.tensors.at(0).storage, kNone);
    EXPECT_EQ(before.storages.size(), 0u);
    EXPECT_EQ(dump_at(file, "x.recording", {4, 5500}).storages.at(0).nbytes, 80u);
  }
}

// Two steps with a backward pass each: how what is alive at the peak of the first went on.
TEST(Moment, AllocationsSayHowTheyWentOn) {
  RecordingBuilder builder;
  builder.segment(0, 5000);
  format::RecordedEvent gradient = allocated(3, 10, 5300);
  gradient.node = 1;
  builder.events(1, 5,
                 {step(0, 0, 5050), allocated(1, 100, 5100), allocated(2, 200, 5200), gradient, freed(2, 3, 5400),
                  step(1, 3, 5500), allocated(4, 1, 5600), freed(3, 4, 5700), freed(4, 4, 5800)});
  builder.end();
  const RecordingFile file = builder.file();
  const Dump dump = dump_at(file, "x.recording", find_moment(file, *read_moment_name("peak")));
  ASSERT_EQ(dump.allocations.size(), 3u);
  ASSERT_EQ(dump.lives.size(), 3u);
  EXPECT_TRUE(dump.moment);
  const auto is = [&](size_t i, bool freed, bool past_step, bool past_backward) {
    const AllocationLife& life = dump.lives[i];
    return life.freed == freed && life.past_step == past_step && life.past_backward == past_backward;
  };
  EXPECT_TRUE(is(0, false, true, true));
  EXPECT_TRUE(is(1, true, false, true));
  EXPECT_TRUE(is(2, true, true, false));
}

TEST(Moment, BeforeAllEventsThereIsWhatTheSegmentBeganWith) {
  RecordingBuilder builder = three_steps();
  const RecordingFile file = builder.file();
  EXPECT_EQ(dump_at(file, "x.recording", {0, 5000}).allocations.size(), 0u);
}

}  // namespace

}  // namespace tensorscope::analyzer
