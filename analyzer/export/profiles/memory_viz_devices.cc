// SPDX-License-Identifier: Apache-2.0
#include "export/profiles/memory_viz_devices.h"

#include <algorithm>
#include <unordered_map>

#include "dump_generated.h"
#include "memory/segment_sums.h"

namespace tensorscope::exports {

namespace {

using analyzer::Device;
using format::BlockState;

constexpr int8_t kCuda = 1;  // c10::DeviceType, c10/core/DeviceType.h
constexpr Device kCpu = {0, -1};

void add_alone(VizDevice& out, const VizBlock& block) {
  if (block.size == 0) return;
  VizSegment segment;
  segment.address = block.address;
  segment.size = block.size;
  segment.site = block.site;
  segment.first_block = out.blocks.size();
  segment.block_count = 1;
  out.segments.push_back(segment);
  out.blocks.push_back(block);
}

VizBlock block_of(const analyzer::Allocation& row, uint32_t index) {
  return {row.pointer, row.nbytes, row.nbytes,     uint8_t(BlockState::allocated),
          row.site,    index,      row.created_ns, row.serial};
}

VizBlock block_of(const analyzer::RuntimeBlock& row) {
  return {row.pointer, row.nbytes,      row.nbytes,     uint8_t(BlockState::allocated),
          row.site,    analyzer::kNone, row.created_ns, row.serial};
}

bool on_device(const analyzer::RuntimeBlock& row) { return !row.device.is_cpu(); }

}  // namespace

VizDevices::VizDevices(const analyzer::Dump& dump) : dump_(dump) {
  int devices = 0;
  auto count = [&devices](Device device) {
    if (device.type == kCuda) devices = std::max(devices, device.index + 1);
  };
  for (const analyzer::Allocation& row : dump.allocations) count(row.device);
  for (const analyzer::DeviceMemory& memory : dump.device_memory) count(memory.device);
  for (const analyzer::RuntimeBlock& row : dump.runtime_blocks) count(row.device);
  for (int index = 0; index < devices; index++) part(Kind::allocator, {kCuda, int8_t(index)});
  part(Kind::allocator, kCpu);
  for (const analyzer::DeviceMemory& memory : dump.device_memory) part(Kind::allocator, memory.device);
  for (uint32_t i = 0; i < dump.allocations.size(); i++) {
    part(Kind::allocator, dump.allocations[i].device).rows.push_back(i);
  }
  for (uint32_t i = 0; i < dump.runtime_blocks.size(); i++) {
    const analyzer::RuntimeBlock& row = dump.runtime_blocks[i];
    if (!on_device(row)) {
      part(Kind::pinned, kCpu).rows.push_back(i);
    } else if (!row.by_torch) {
      part(Kind::outside, row.device).rows.push_back(i);
    }
  }
}

VizDevices::Origin& VizDevices::part(Kind kind, Device device) {
  auto [found, fresh] = numbers_.try_emplace({kind, device}, parts_.size());
  if (!fresh) return parts_[found->second];
  const std::string name = kind == Kind::pinned    ? "page-locked host memory"
                           : kind == Kind::outside ? device.text() + ", not by torch"
                                                   : device.text();
  return parts_.emplace_back(Origin{kind, device, name, {}});
}

const analyzer::DeviceMemory* VizDevices::memory(size_t number) const {
  for (const analyzer::DeviceMemory& memory : dump_.device_memory) {
    if (parts_[number].kind == Kind::allocator && memory.device == parts_[number].device) return &memory;
  }
  return nullptr;
}

uint32_t VizDevices::failed() const {
  if (!dump_.failure) return analyzer::kNone;
  const auto failure = format::FailureKind(dump_.failure->kind);
  const bool pinned = failure == format::FailureKind::pinned;
  if (!pinned && failure != format::FailureKind::device && failure != format::FailureKind::host) return analyzer::kNone;
  const Device device = failure == format::FailureKind::device ? dump_.failure->device : kCpu;
  const auto found = numbers_.find({pinned ? Kind::pinned : Kind::allocator, device});
  return found == numbers_.end() ? analyzer::kNone : uint32_t(found->second);
}

void VizDevices::add_segments(const Origin& part, const analyzer::DeviceMemory& memory, VizDevice& out) const {
  std::unordered_map<uint64_t, uint32_t> by_pointer;
  for (uint32_t row : part.rows) by_pointer.emplace(dump_.allocations[row].pointer, row);
  std::unordered_map<uint64_t, const analyzer::RuntimeBlock*> taken;
  for (const analyzer::RuntimeBlock& row : dump_.runtime_blocks) {
    if (row.by_torch && row.device == part.device) taken.emplace(row.pointer, &row);
  }
  for (const analyzer::Segment& row : memory.segments) {
    VizSegment& segment = out.segments.emplace_back();
    segment.address = row.address;
    segment.size = row.size;
    segment.stream = row.stream;
    segment.pool = row.pool;
    segment.pool_user = row.pool_user;
    segment.small = row.small;
    segment.expandable = row.expandable;
    segment.first_block = out.blocks.size();
    if (auto found = taken.find(row.address); found != taken.end() && found->second->nbytes == row.size) {
      segment.site = found->second->site;
      segment.created_ns = found->second->created_ns;
      segment.serial = found->second->serial;
    }
    for (const analyzer::SegmentBlock& told : analyzer::covering_blocks(memory, row)) {
      VizBlock& block = out.blocks.emplace_back();
      block.address = told.address;
      block.size = told.size;
      block.state = told.state;
      block.requested = told.requested;
      if (BlockState(told.state) == BlockState::free) continue;
      if (block.requested == 0) block.requested = block.size;
      auto found = by_pointer.find(told.address);
      if (BlockState(told.state) != BlockState::allocated || found == by_pointer.end()) continue;
      const analyzer::Allocation& allocation = dump_.allocations[found->second];
      block.site = allocation.site;
      block.allocation = found->second;
      block.created_ns = allocation.created_ns;
      block.serial = allocation.serial;
    }
    segment.block_count = out.blocks.size() - segment.first_block;
  }
}

VizDevice VizDevices::build(size_t number) const {
  const Origin& part = parts_[number];
  VizDevice out;
  if (part.kind != Kind::allocator) {
    for (uint32_t row : part.rows) add_alone(out, block_of(dump_.runtime_blocks[row]));
    return out;
  }
  const analyzer::DeviceMemory* memory = this->memory(number);
  std::vector<bool> placed(dump_.allocations.size());
  if (memory != nullptr) add_segments(part, *memory, out);
  for (const VizBlock& block : out.blocks) {
    if (block.allocation != analyzer::kNone) placed[block.allocation] = true;
  }
  const bool by_torch =
      !out.segments.empty() && format::SegmentSource(memory->segments_from) == format::SegmentSource::snapshot;
  for (uint32_t row : part.rows) {
    const analyzer::Allocation& allocation = dump_.allocations[row];
    // A caching allocator's block that is in no segment of the snapshot was freed after the tables were copied.
    if (by_torch && format::AllocationKind(allocation.kind) == format::AllocationKind::caching) continue;
    if (!placed[row]) add_alone(out, block_of(allocation, row));
  }
  return out;
}

}  // namespace tensorscope::exports
