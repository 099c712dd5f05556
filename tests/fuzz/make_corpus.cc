// SPDX-License-Identifier: Apache-2.0
// Writes the fuzzers' first inputs into the three folders that are given: of the reader of dumps, a dump as a file and
// as chunks to be framed; of the reader of recordings, chunks and streams of events; of the reader of values files, a
// file, and chunks.
#include <cstdio>
#include <cstring>
#include <fstream>

#include "support/dump_builder.h"
#include "support/values_builder.h"
#include "tensorscope/dump_format.h"
#include "unit/analyzer/recording/recording_builder.h"

using tensorscope::testing::Chunk;
using tensorscope::testing::DumpBuilder;

namespace {

DumpBuilder sample(int tensors) {
  DumpBuilder builder;
  builder.shared_object({"/usr/lib/libc.so.6", 0x1000, 0x1000, 0x9000, {0xab, 0xcd, 0xef}});
  uint32_t thread = builder.thread(4242, "python");
  uint32_t site = builder.site(builder.native({0x1100, 0x1200}), builder.python({{"train.py", "main", 3, true, 0x77}}));
  builder.coverage("CPU memory", tensorscope::format::Seen::yes, "");
  builder.module_name(0x77, "model.fc1", "Linear");
  using tensorscope::format::MomentKind;
  using tensorscope::format::StepSource;
  builder.history_points = {{2'000'000'000, 1, 4096, 1, MomentKind::step, StepSource::backward},
                            {3'000'000'000, 1, 0, 1, MomentKind::dump, StepSource::backward}};
  builder.history_levels = {{100, 300, 300}, {200, 400, 700}};
  builder.peak_bytes = 400;
  builder.peak_sites = {{400, 2, site}};
  builder.peak_devices = {{400, 0, -1}};
  for (int i = 0; i < tensors; i++) {
    tensorscope::testing::AllocationSpec block;
    block.pointer = 0x10000 + uint64_t(i) * 0x1000;
    block.nbytes = 0x400;
    block.site = site;
    builder.allocation(block);
    tensorscope::testing::TensorSpec tensor;
    tensor.sizes = {16, 16};
    tensor.storage_base = block.pointer;
    tensor.site = site;
    tensor.thread = thread;
    tensor.grad_fn_name = "N5torch8autograd9generated9TBackwardE";
    builder.tensor(tensor);
  }
  const uint64_t seen = builder.node(0x5000, "N5torch8autograd9generated9TBackwardE", site);
  tensorscope::testing::GraphNodeSpec leaf;
  leaf.class_name = "N5torch8autograd14AccumulateGradE";
  leaf.flags = uint8_t(tensorscope::format::GraphNodeFlag::accumulates);
  tensorscope::testing::GraphNodeSpec node;
  node.class_name = "N5torch8autograd9generated9TBackwardE";
  node.address = 0x5000;
  node.serial = seen;
  const uint32_t leaf_number = builder.graph_node(leaf), number = builder.graph_node(node);
  builder.edge(number, leaf_number);
  builder.slot_name("TBackward", 0, "self");
  builder.node_reference(number, "loss", "train.py");
  for (int i = 0; i < tensors; i++) {
    const uint64_t serial = uint64_t(2 * i + 2);
    builder.saved(number, {serial, uint16_t(i)});
    builder.tensor_object({serial, "Parameter", 2, tensorscope::format::WrapperState::referenced, true, true});
    builder.reference({serial, "model.fc1.weight", "", "dict", tensorscope::format::ReferenceRoot::global,
                       tensorscope::format::ReferenceRole::parameter, 3});
    builder.reference({serial, "ctx.x", "TBackward", "tuple", tensorscope::format::ReferenceRoot::node,
                       tensorscope::format::ReferenceRole::saved, 1, number});
  }
  tensorscope::testing::FailureSpec failure;
  failure.requested = 2 << 20;
  failure.site = site;
  failure.thread = thread;
  failure.node = seen;
  builder.failure(failure);
  tensorscope::testing::DeviceMemorySpec memory;
  memory.driver_total = 64 << 20;
  memory.driver_free = 1 << 20;
  memory.processes.emplace_back(4243, UINT64_MAX);
  tensorscope::testing::SegmentSpec segment;
  segment.address = 0x100000;
  segment.size = 2 << 20;
  for (int i = 0; i < tensors; i++) {
    segment.blocks.emplace_back(segment.address + uint64_t(i) * 0x1000, 0x1000, 0x800,
                                tensorscope::format::BlockState(i % 3));
  }
  memory.segments = {segment};
  builder.device_memory(memory);
  tensorscope::testing::RuntimeBlockSpec block;
  block.pointer = segment.address;
  block.nbytes = segment.size;
  block.site = site;
  block.by_torch = true;
  builder.runtime_block(block);
  builder.source_file(
      {"train.py", {{3, "main()"}, {7, "loss = \xff"}}, tensorscope::format::SourceState::read, 100, 5});
  builder.source_file({"other.py", {}, tensorscope::format::SourceState::changed});
  return builder;
}

template <typename Table>
Chunk chunk_of(uint32_t type, flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Table> root) {
  builder.FinishSizePrefixed(root);
  return {type, std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize())};
}

// What CUPTI reports.
void add_cupti(std::vector<Chunk>& chunks, int rows) {
  namespace format = tensorscope::format;
  std::vector<format::DriverBlock> blocks;
  std::vector<format::SiteLaunches> launches;
  for (int i = 0; i < rows; i++) {
    blocks.emplace_back(0x200000 + uint64_t(i) * 0x1000, 0x1000, 5, 4242, 1, 7, 1, format::DriverMemoryKind(i % 9), 1,
                        0);
    launches.emplace_back(3, 30, 2, 20, 200, 10, 5, 1, 64, 8, uint32_t(i % 2));
  }
  flatbuffers::FlatBufferBuilder memory, counts;
  const auto values = memory.CreateVectorOfStructs(blocks);
  chunks.push_back(chunk_of(format::kDriverMemory, memory,
                            format::CreateDriverMemory(memory, values, 5, 0, 3, 1, 0, 0, 130001, true)));
  const auto places = counts.CreateVectorOfStructs(launches);
  chunks.push_back(chunk_of(format::kLaunches, counts, format::CreateLaunches(counts, places)));
}

void add_process_memory(std::vector<Chunk>& chunks, int rows) {
  namespace format = tensorscope::format;
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<format::Mapping>> mappings;
  for (int i = 0; i < rows; i++) {
    const auto name = builder.CreateString("libtorch_" + std::to_string(i) + ".so");
    mappings.push_back(format::CreateMapping(builder, name, format::MappingKind(i % 6), 2, 0x5000, 0x2000, 0x1000));
  }
  const auto detail = builder.CreateString("not asked for");
  const auto values = builder.CreateVector(mappings);
  chunks.push_back(chunk_of(format::kProcessMemory, builder,
                            format::CreateProcessMemory(builder, 9 << 20, 4 << 20, detail, values, detail)));
}

std::string as_input(char kind, const std::vector<Chunk>& parts) {
  std::string input(1, kind);
  for (const Chunk& chunk : parts) {
    const uint32_t head[2] = {chunk.type, uint32_t(chunk.payload.size())};
    input.append(reinterpret_cast<const char*>(head), sizeof head);
    input += chunk.payload;
  }
  return input;
}

// The chunks that follow the header of a recording.
std::vector<Chunk> chunks_of(const std::string& recording) {
  namespace format = tensorscope::format;
  std::vector<Chunk> parts;
  for (size_t at = sizeof(format::FileHeader); at < recording.size();) {
    format::ChunkHeader header;
    std::memcpy(&header, recording.data() + at, sizeof header);
    at += sizeof header;
    parts.push_back({header.type, recording.substr(at, header.length)});
    at += header.length + format::padding(header.length);
  }
  return parts;
}

std::vector<tensorscope::format::RecordedEvent> sample_events(uint64_t first) {
  namespace analyzer = tensorscope::analyzer;
  std::vector<tensorscope::format::RecordedEvent> events;
  for (uint64_t serial = first; serial < first + 20; serial += 4) {
    events.push_back(analyzer::allocated(serial, 1024, 5000 + serial));
    events.push_back(analyzer::made(serial + 1, 5000 + serial));
    events.back().ndim = 2;
    events.back().sizes[0] = events.back().sizes[1] = 16;
    if (serial % 8 == 1) events.push_back(analyzer::freed(serial, serial + 2, 5000 + serial));
    events.push_back(analyzer::step(serial / 4, serial + 3, 5000 + serial));
    events.back().mode = 0;
  }
  return events;
}

// A recording with the tables of a dump and two flushes of events; and a stream of events alone.
void write_recordings(const std::string& folder) {
  namespace format = tensorscope::format;
  tensorscope::analyzer::RecordingBuilder recording;
  recording.segment(0, 5000);
  recording.events(0, 30, sample_events(1));
  recording.events(1, 60, sample_events(31));
  recording.end();
  std::vector<Chunk> parts = sample(2).chunks();
  for (Chunk& chunk : chunks_of(recording.bytes())) parts.push_back(std::move(chunk));
  std::ofstream(folder + "/chunks", std::ios::binary) << as_input('C', parts);

  format::EventEncoder encoder(5000, tensorscope::rules::element_size);
  const std::vector<format::RecordedEvent> events = sample_events(1);
  std::vector<uint8_t> data(events.size() * format::kMaxEventBytes);
  uint8_t* end = data.data();
  for (const format::RecordedEvent& event : events) end = encoder.encode(event, end);
  std::ofstream(folder + "/stream", std::ios::binary) << 'S' << std::string(data.data(), end);
}

void write_values(const std::string& folder) {
  tensorscope::testing::ValuesBuilder builder;
  builder.calls = builder.find_nan = true;
  builder.watch({"model.**"});
  for (uint32_t step = 1; step < 4; ++step) {
    tensorscope::testing::CallSpec call;
    call.module = "model", call.class_name = "Net", call.step = step;
    const uint64_t id = builder.call(call);
    call.module = "model.layers.0", call.parent = id;
    builder.call(call);
    tensorscope::testing::ValueSpec value;
    value.name = "model.layers.0", value.module = "model.layers.0", value.step = step, value.call = id;
    value.shape = {2, 2}, value.numbers = {0.5, -1, double(step), 4};
    value.series = {{"quantiles", {0, 0.5, 1}}};
    const uint64_t serial = builder.value(value);
    value.numbers.clear(), value.series.clear(), value.same_as = serial;
    builder.value(value);
    builder.flush(step);
  }
  tensorscope::testing::NonFiniteSpec found;
  found.operation = "aten::log", found.stack = {"train.py:3 main"}, found.inputs = {{"x", {}}};
  builder.finding(found);
  builder.losses({{"values", 3, "the queue was full"}});
  builder.unmatched(0, {"model.fc"});
  std::ofstream(folder + "/file", std::ios::binary) << 'R' << builder.bytes();
  std::ofstream(folder + "/chunks", std::ios::binary) << as_input('C', builder.chunks());
  std::ofstream(folder + "/growing", std::ios::binary) << as_input('G', builder.chunks());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "usage: make_corpus DUMPS RECORDINGS VALUES\n"), 2;
  write_recordings(argv[2]);
  write_values(argv[3]);
  for (int tensors : {0, 1, 5}) {
    std::vector<Chunk> parts = sample(tensors).chunks();
    add_cupti(parts, tensors);
    add_process_memory(parts, tensors);
    const std::string name = std::string(argv[1]) + "/" + std::to_string(tensors);
    std::ofstream(name + ".file", std::ios::binary) << 'R' << DumpBuilder::frame(parts);
    std::ofstream(name + ".chunks", std::ios::binary) << as_input('C', parts);
  }
  return 0;
}
