// SPDX-License-Identifier: Apache-2.0
// The reader of recordings against arbitrary bytes. The first byte says what the rest is:
//   'C' chunks {type, length, payload}, framed here with right checksums: fuzzes the verifier and the row code
//   'S' the bytes of one EVTS chunk: fuzzes the decoder
//   anything else: numbers from which well-formed events are made that contradict each other
// Whatever comes, it is refused with BadInput or gives moments and a timeline whose sums hold.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "cut_chunks.h"
#include "dump/reader.h"
#include "recording/moment.h"
#include "timeline/timeline.h"
#include "unit/analyzer/recording/recording_builder.h"

namespace {

using namespace tensorscope;
using analyzer::RecordingBuilder;
using format::EventType;
using format::RecordedEvent;

void require(bool holds) {
  if (!holds) std::abort();
}

void look_at_moment(const analyzer::RecordingFile& file, const char* name) {
  try {
    const analyzer::Dump dump =
        analyzer::dump_at(file, name, analyzer::find_moment(file, *analyzer::read_moment_name(name)));
    for (const auto& tensor : dump.tensors) require(tensor.site < dump.sites.size());
    for (const auto& allocation : dump.allocations) require(allocation.site < dump.sites.size());
  } catch (const analyzer::BadInput&) {
  }
}

void look_at(const RecordingBuilder& builder) {
  const analyzer::RecordingFile file = builder.file();
  for (const char* name : {"peak", "end", "step=3", "step=2:peak", "0.5s", "oom"}) look_at_moment(file, name);
  const analyzer::MemoryTimeline timeline = analyzer::read_timeline(file, 7);
  for (const analyzer::DeviceCurve& curve : timeline.curves) {
    for (const uint64_t bytes : curve.highest) require(bytes <= curve.peak_bytes);
  }
  require(analyzer::unusual_steps(timeline.steps).size() <= timeline.steps.size());
}

void add_chunk(RecordingBuilder& builder, uint32_t type, const uint8_t* data, size_t size) {
  format::ChunkHeader header = {type, 0, size, 0};
  header.checksum = format::chunk_checksum(header, data);
  builder.bytes().append(reinterpret_cast<const char*>(&header), sizeof header);
  builder.bytes().append(reinterpret_cast<const char*>(data), size);
  builder.bytes().resize(builder.bytes().size() + format::padding(size));
}

void add_stream(RecordingBuilder& builder, const uint8_t* data, size_t size) {
  builder.segment(0, 5000);
  flatbuffers::FlatBufferBuilder chunk;
  const auto bytes = chunk.CreateVector(data, size);
  builder.add(format::kEvents, chunk, format::CreateEvents(chunk, 1, 1000, 5000, 9000, 1, bytes));
}

void add_wild_events(RecordingBuilder& builder, FuzzedDataProvider& in) {
  const auto number = [&]() -> uint64_t {
    switch (in.ConsumeIntegralInRange(0, 3)) {
      case 0:
      case 1:
        return in.ConsumeIntegralInRange<uint64_t>(0, 40);
      case 2:
        return in.ConsumeIntegral<uint64_t>();
      default:
        return UINT64_MAX - in.ConsumeIntegralInRange<uint64_t>(0, 40);
    }
  };
  uint32_t flush = 0;
  builder.segment(number(), number(), number());
  while (in.remaining_bytes() > 0) {
    std::vector<RecordedEvent> events(in.ConsumeIntegralInRange<size_t>(0, 8));
    for (RecordedEvent& e : events) {
      e.type = EventType(in.ConsumeIntegralInRange(0, 11));
      if (int(e.type) == 4) e.type = EventType::freed;
      e.order = number();
      e.serial = e.makes() ? e.order : number();
      e.ns = number();
      e.thread = in.ConsumeIntegralInRange<uint32_t>(0, 3);
      e.site = uint32_t(number());
      e.pointer = number();
      e.nbytes = number();
      e.node = number();
      e.number = number();
      e.pass = number();
      e.mode = in.ConsumeIntegral<uint8_t>();
      e.memory_kind = in.ConsumeIntegral<uint8_t>();
      e.device_type = in.ConsumeIntegral<int8_t>();
      e.device_index = in.ConsumeIntegralInRange<int8_t>(-1, 2);
      e.dtype = in.ConsumeIntegral<int8_t>();
      e.known = in.ConsumeBool();
      e.by_torch = in.ConsumeBool();
      e.ndim = in.ConsumeIntegralInRange<size_t>(0, format::kMaxEventSizes);
      for (size_t i = 0; i < e.ndim; ++i) e.sizes[i] = int64_t(number());
    }
    builder.events(flush += in.ConsumeBool(), number(), events);
    if (in.ConsumeIntegralInRange(0, 9) == 0) builder.segment(number(), number(), number());
  }
  if (flush % 2 != 0) builder.end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 20'000) return 0;
  RecordingBuilder builder;
  FuzzedDataProvider in(data + 1, size - 1);
  if (data[0] == 'C') {
    testing::cut_chunks(data + 1, size - 1, [&](uint32_t type, const uint8_t* payload, size_t length) {
      add_chunk(builder, type, payload, length);
    });
  } else if (data[0] == 'S') {
    add_stream(builder, data + 1, size - 1);
  } else {
    add_wild_events(builder, in);
  }
  look_at(builder);
  return 0;
}
