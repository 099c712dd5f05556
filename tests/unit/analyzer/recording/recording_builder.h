// SPDX-License-Identifier: Apache-2.0
// A recording in memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dump/byte_source.h"
#include "recording/recording_file.h"
#include "tensorscope/event_stream.h"
#include "tensorscope/recording_format.h"
#include "tensorscope/rules/element_size.h"

namespace tensorscope::analyzer {

class RecordingBuilder {
 public:
  RecordingBuilder() {
    format::FileHeader header{};
    std::copy_n(format::kRecordingMagic, sizeof header.magic, header.magic);
    header.major = format::kRecordingMajor;
    header.checksum = format::header_checksum(header);
    put(&header, sizeof header);
    flatbuffers::FlatBufferBuilder builder;
    auto program = builder.CreateString("train");
    format::ProcessBuilder process(builder);
    process.add_pid(42);
    process.add_program(program);
    process.add_start_ns(1000);
    process.add_start_unix_ns(1'700'000'000'000'000'000);
    process.add_dump_ns(2000);
    process.add_dump_unix_ns(1'700'000'000'000'001'000);
    add(format::kProcess, builder, process.Finish());
  }

  template <typename Table>
  void add(uint32_t type, flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Table> root) {
    builder.FinishSizePrefixed(root);
    add(type, {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()});
  }

  void add(uint32_t type, std::string_view payload) {
    format::ChunkHeader header = {type, 0, payload.size(), 0};
    header.checksum = format::chunk_checksum(header, payload.data());
    put(&header, sizeof header);
    put(payload.data(), payload.size());
    bytes_.resize(bytes_.size() + format::padding(payload.size()));
    ++chunks_;
  }

  void segment(uint64_t serial, uint64_t begin_ns, uint64_t live_bytes = 0) {
    flatbuffers::FlatBufferBuilder builder;
    std::vector<format::DeviceTotal> devices;
    if (live_bytes != 0) devices.emplace_back(live_bytes, live_bytes, 1, 1, live_bytes, 0, 0, 0, int8_t(0), int8_t(-1));
    auto rows = builder.CreateVectorOfStructs(devices);
    format::RecordingSegmentBuilder segment(builder);
    segment.add_number(1);
    segment.add_begin_ns(begin_ns);
    segment.add_serial(serial);
    segment.add_devices(rows);
    add(format::kSegment, builder, segment.Finish());
  }

  void allocations(const std::vector<format::Allocation>& rows) {
    flatbuffers::FlatBufferBuilder builder;
    auto values = builder.CreateVectorOfStructs(rows);
    add(format::kAllocations, builder, format::CreateAllocationRows(builder, values));
  }

  // One lane's events of a flush; `serial`: what the flush is complete up to.
  void events(uint32_t flush, uint64_t serial, const std::vector<format::RecordedEvent>& events) {
    constexpr uint64_t kBeginNs = 5000;
    format::EventEncoder encoder(kBeginNs, rules::element_size);
    std::vector<uint8_t> data(events.size() * format::kMaxEventBytes);
    uint8_t* end = data.data();
    for (const format::RecordedEvent& event : events) end = encoder.encode(event, end);
    data.resize(size_t(end - data.data()));
    flatbuffers::FlatBufferBuilder builder;
    auto bytes = builder.CreateVector(data);
    add(format::kEvents, builder,
        format::CreateEvents(builder, flush, serial, kBeginNs, 9000, uint32_t(events.size()), bytes));
  }

  void end() {
    flatbuffers::FlatBufferBuilder builder;
    add(format::kRecordingEnd, builder, format::CreateRecordingEndDirect(builder, 9999, chunks_, 0, 0, "end"));
  }

  RecordingFile file() const { return RecordingFile(wrap_memory(bytes_.data(), bytes_.size()), "x.recording"); }
  std::string& bytes() { return bytes_; }

 private:
  void put(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string bytes_;
  uint32_t chunks_ = 0;
};

inline format::RecordedEvent allocated(uint64_t serial, uint64_t nbytes, uint64_t ns = 6000) {
  format::RecordedEvent e;
  e.type = format::EventType::allocated;
  e.order = e.serial = serial;
  e.ns = ns;
  e.pointer = serial * 0x1000;
  e.nbytes = nbytes;
  return e;
}
inline format::RecordedEvent ended(format::EventType type, uint64_t serial, uint64_t order, uint64_t ns = 6000) {
  format::RecordedEvent e;
  e.type = type;
  e.order = order;
  e.serial = serial;
  e.ns = ns;
  return e;
}
inline format::RecordedEvent freed(uint64_t serial, uint64_t order, uint64_t ns = 6000) {
  return ended(format::EventType::freed, serial, order, ns);
}
inline format::RecordedEvent made(uint64_t serial, uint64_t ns = 6000) {
  format::RecordedEvent e;
  e.type = format::EventType::tensor_made;
  e.order = e.serial = serial;
  e.ns = ns;
  e.pointer = 0x7000 + serial * 64;
  return e;
}
inline format::RecordedEvent step(uint64_t number, uint64_t order, uint64_t ns = 6000) {
  format::RecordedEvent e;
  e.type = format::EventType::step;
  e.order = order;
  e.ns = ns;
  e.number = number;
  e.mode = 1;
  return e;
}

}  // namespace tensorscope::analyzer
