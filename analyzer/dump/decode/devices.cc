// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/devices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dump/decode/flatbuffer_texts.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

void check_driver(DeviceMemory& memory, Decoding& state) {
  if (memory.driver_free > memory.driver_total || !state.devices.driver.admits(memory.driver_total)) {
    state.count("devices with impossible totals");
    memory.driver_total = memory.driver_free = 0;
  }
  // With totals that are known to be possible, the sum over processes need not be: the driver may count a page twice.
  if (memory.driver_total != 0 && memory.own_bytes > memory.driver_total) {
    state.count("processes with more than the device has");
    memory.own_bytes = 0;
  }
  if (!state.devices.driver.admits(memory.own_bytes))
    memory.own_bytes = 0, state.count("processes with more than the device has");
  for (DeviceProcess& process : memory.processes) {
    if (!process.bytes) continue;
    const bool too_much = memory.driver_total != 0 && *process.bytes > memory.driver_total;
    if (!too_much && state.devices.driver.admits(*process.bytes)) continue;
    state.count("processes with more than the device has");
    process.bytes.reset();
  }
}

void check_segments(DeviceMemory& memory, const std::vector<uint32_t>& block_counts, Decoding& state) {
  const std::vector<SegmentBlock> all = std::move(memory.blocks);
  std::vector<Segment> kept;
  memory.blocks.clear();
  size_t next = 0;
  for (size_t i = 0; i < memory.segments.size(); i++) {
    Segment segment = memory.segments[i];
    const size_t first = next, wanted = std::min<size_t>(block_counts[i], all.size() - next);
    if (wanted != block_counts[i]) state.count("blocks of segments that are not in the file", block_counts[i] - wanted);
    next += wanted;
    uint64_t end = 0;
    if (__builtin_add_overflow(segment.address, segment.size, &end) || !state.devices.segments.admits(segment.size)) {
      state.count("invalid segments");
      continue;
    }
    if (segment.allocated > segment.active || segment.active > segment.size) {
      state.count("segments smaller than their blocks");
      segment.active = std::min(segment.active, segment.size);
      segment.allocated = std::min(segment.allocated, segment.active);
    }
    if (segment.requested > segment.active) segment.requested = 0;
    segment.first_block = uint32_t(memory.blocks.size());
    uint64_t from = segment.address;
    for (size_t b = first; b < next; b++) {
      SegmentBlock block = all[b];
      if (block.address < from || block.address > end || block.size > end - block.address ||
          block.state > uint8_t(format::BlockState::MAX)) {
        state.count("blocks outside of their segment");
        continue;
      }
      from = block.address + block.size;
      if (block.requested > block.size) block.requested = 0;
      memory.blocks.push_back(block);
    }
    segment.block_count = uint32_t(memory.blocks.size()) - segment.first_block;
    kept.push_back(segment);
  }
  memory.segments = std::move(kept);
}

}  // namespace

void decode_device_memory(const format::DeviceMemory& in, Decoding& state) {
  const Device device = device_of(in.device_type(), in.device_index());
  if (!state.devices.described.insert(device).second) {
    state.count("second descriptions of a device's memory");
    return;
  }
  auto str = [&](const flatbuffers::String* text) { return charged(text, state); };
  DeviceMemory& out = state.dump.device_memory.emplace_back();
  out.device = device;
  out.name = str(in.name());
  out.backend = str(in.backend());
  out.settings = str(in.settings());
  out.driver_total = in.driver_total();
  out.driver_free = in.driver_free();
  out.own_bytes = in.own_bytes();
  out.driver_detail = str(in.driver_detail());
  out.segments_detail = str(in.segments_detail());
  if (in.segments_from() <= format::SegmentSource::MAX) out.segments_from = uint8_t(in.segments_from());
  out.looked_ns = in.looked_ns();
  if (in.processes()) {
    for (const format::DeviceProcess* row : *in.processes()) {
      out.processes.push_back({row->pid(), row->bytes() == UINT64_MAX ? std::nullopt : std::optional(row->bytes())});
    }
  }
  check_driver(out, state);
  if (in.blocks()) {
    for (const format::SegmentBlock* row : *in.blocks()) {
      out.blocks.push_back({row->address(), row->size(), row->requested(), uint8_t(row->state())});
    }
  }
  std::vector<uint32_t> block_counts;
  if (in.segments()) {
    for (const format::Segment* row : *in.segments()) {
      Segment segment;
      segment.address = row->address();
      segment.size = row->size();
      segment.allocated = row->allocated();
      segment.active = row->active();
      segment.requested = row->requested();
      segment.stream = row->stream();
      segment.pool = row->pool();
      segment.pool_user = row->pool_user();
      segment.small = row->flags() & uint8_t(format::SegmentFlag::small);
      segment.expandable = row->flags() & uint8_t(format::SegmentFlag::expandable);
      out.segments.push_back(segment);
      block_counts.push_back(row->blocks());
    }
  }
  check_segments(out, block_counts, state);
}

void finish_device_memory(Decoding& state) {
  std::sort(state.dump.device_memory.begin(), state.dump.device_memory.end(),
            [](const DeviceMemory& a, const DeviceMemory& b) { return a.device < b.device; });
}

}  // namespace tensorscope::analyzer
