// SPDX-License-Identifier: Apache-2.0
// The part of DumpBuilder that writes what failed, devices' memory, the CUDA runtime's blocks and source lines.
#include "support/dump_builder.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::testing {

namespace {

using flatbuffers::FlatBufferBuilder;

template <typename Root>
Chunk chunk_of(uint32_t type, FlatBufferBuilder& fbb, flatbuffers::Offset<Root> root) {
  fbb.FinishSizePrefixed(root);
  return {type, {reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()}};
}

struct BlockSums {
  uint64_t allocated = 0, active = 0, requested = 0;
};

BlockSums sums_of(const SegmentSpec& segment) {
  BlockSums sums;
  for (const format::SegmentBlock& block : segment.blocks) {
    if (block.state() == format::BlockState::free) continue;
    sums.active += block.size();
    if (block.state() == format::BlockState::allocated) sums.allocated += block.size();
    sums.requested += block.requested();
  }
  return sums;
}

Chunk device_chunk(const DeviceMemorySpec& memory) {
  std::vector<format::Segment> segments;
  std::vector<format::SegmentBlock> blocks;
  auto or_else = [](auto given, auto counted) { return given == decltype(given)(-1) ? counted : given; };
  for (const SegmentSpec& segment : memory.segments) {
    const BlockSums sums = sums_of(segment);
    segments.emplace_back(segment.address, segment.size, or_else(segment.allocated, sums.allocated),
                          or_else(segment.active, sums.active), or_else(segment.requested, sums.requested),
                          segment.stream, segment.pool, segment.pool_user,
                          or_else(segment.block_count, uint32_t(segment.blocks.size())), segment.flags);
    blocks.insert(blocks.end(), segment.blocks.begin(), segment.blocks.end());
  }
  FlatBufferBuilder fbb;
  return chunk_of(format::kDeviceMemory, fbb,
                  format::CreateDeviceMemoryDirect(
                      fbb, memory.device_type, memory.device_index, memory.name.c_str(), memory.backend.c_str(),
                      memory.settings.c_str(), memory.driver_total, memory.driver_free, memory.own_bytes,
                      &memory.processes, memory.driver_detail.c_str(), &segments, &blocks, memory.segments_from,
                      memory.segments_detail.c_str(), memory.looked_ns));
}

}  // namespace

uint64_t DumpBuilder::runtime_block(const RuntimeBlockSpec& spec) {
  const uint64_t serial = take_serial(spec.serial);
  runtime_blocks_.emplace_back(serial, spec.pointer, spec.nbytes, spec.created_ns, spec.site, spec.thread, spec.kind,
                               spec.by_torch, spec.device_type, spec.device_index);
  return serial;
}

void DumpBuilder::memory_chunks(std::vector<Chunk>& out) const {
  for (const FailureSpec& f : failure_) {
    FlatBufferBuilder fbb;
    out.push_back(chunk_of(format::kFailure, fbb,
                           format::CreateFailureDirect(fbb, f.kind, f.limit, f.device_type, f.device_index, f.requested,
                                                       f.allocator_allocated, f.allocator_reserved, f.limit_bytes,
                                                       f.left_bytes, f.error.c_str(), f.site, f.thread, f.node,
                                                       f.failed_ns, f.failures, f.without_dump)));
  }
  for (const DeviceMemorySpec& memory : device_memory_) out.push_back(device_chunk(memory));
  for (size_t first = 0; first < runtime_blocks_.size(); first += rows_per_chunk) {
    const size_t count = std::min(rows_per_chunk, runtime_blocks_.size() - first);
    FlatBufferBuilder fbb;
    const auto rows = fbb.CreateVectorOfStructs(runtime_blocks_.data() + first, count);
    out.push_back(chunk_of(format::kRuntimeBlocks, fbb, format::CreateRuntimeBlocks(fbb, rows)));
  }
}

Chunk DumpBuilder::source_chunk() const {
  FlatBufferBuilder fbb;
  std::vector<flatbuffers::Offset<format::SourceFile>> files;
  for (const SourceFileSpec& file : sources_) {
    std::vector<uint32_t> numbers;
    std::vector<std::string> texts;
    for (const auto& [number, text] : file.lines) {
      numbers.push_back(number);
      texts.push_back(text);
    }
    const auto path = fbb.CreateString(file.path);
    const auto lines = fbb.CreateVector(numbers);
    const auto values = fbb.CreateVectorOfStrings(texts);
    files.push_back(format::CreateSourceFile(fbb, path, file.state, file.size, file.hash, lines, values));
  }
  const auto detail = fbb.CreateString(sources_detail);
  const auto rows = fbb.CreateVector(files);
  return chunk_of(format::kSourceLines, fbb,
                  format::CreateSourceLines(fbb, sources_complete, detail, newest_source_unix_ns, rows));
}

}  // namespace tensorscope::testing
