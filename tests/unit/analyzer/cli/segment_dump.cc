// SPDX-License-Identifier: Apache-2.0
#include "segment_dump.h"

#include "support/sample_values.h"

namespace tensorscope::testing {

namespace {

constexpr uint64_t kBase = 0x7f3a00000000;
constexpr auto kAllocated = format::BlockState::allocated, kPending = format::BlockState::pending_free,
               kFree = format::BlockState::free;

struct Part {
  uint64_t mebibytes;
  format::BlockState state;
};

SegmentSpec segment(uint64_t address, const std::vector<Part>& parts) {
  SegmentSpec spec;
  spec.address = address;
  for (const Part& part : parts) {
    const uint64_t size = part.mebibytes * kMiB;
    const uint64_t requested = part.state == kAllocated ? size - 4096 : 0;
    spec.blocks.emplace_back(address + spec.size, size, requested, part.state);
    spec.size += size;
  }
  return spec;
}

}  // namespace

DumpBuilder segment_dump() {
  DumpBuilder builder;
  DeviceMemorySpec first;
  first.name = "NVIDIA H200";
  first.settings = "expandable_segments:True";
  first.segments.push_back(segment(kBase, {{512, kAllocated}}));
  first.segments.push_back(
      segment(kBase + 0x40000000, {{100, kAllocated}, {60, kFree}, {20, kAllocated}, {76, kFree}, {256, kAllocated}}));
  first.segments.push_back(segment(kBase + 0x80000000, {{64, kFree}}));
  first.segments.push_back(segment(kBase + 0xa0000000, {{10, kAllocated}, {10, kPending}}));
  first.segments.back().stream = 0x55d0c0ffee00;
  first.segments.push_back(segment(kBase + 0xb0000000, {{12, kAllocated}, {8, kFree}}));
  first.segments.back().pool = 1;
  first.segments.push_back(segment(kBase + 0x100000000, {{70, kAllocated}, {50, kFree}}));
  first.segments.back().flags = uint8_t(format::SegmentFlag::expandable);
  first.segments.push_back(segment(kBase + 0x200000000, {{1, kAllocated}, {1, kFree}}));
  first.segments.back().flags = uint8_t(format::SegmentFlag::small);
  builder.device_memory(first);
  DeviceMemorySpec second;
  second.device_index = 1;
  second.name = "NVIDIA H200";
  second.backend = "cudaMallocAsync";
  second.segments_from = format::SegmentSource::none;
  second.segments_detail = "the driver's own pool serves cudaMallocAsync: torch has no segments";
  builder.device_memory(second);
  DeviceMemorySpec third;
  third.device_index = 2;
  third.segments_from = format::SegmentSource::runtime_calls;
  third.segments_detail = "torch's allocator was busy for longer than the dump waits";
  third.segments.push_back(segment(0x7e0000000000, {{8, kAllocated}, {12, kFree}}));
  builder.device_memory(third);
  builder.device_total(format::DeviceTotal(0, 0, 0, 0, 0, 0, kMiB, kMiB, 1, 3));
  return builder;
}

}  // namespace tensorscope::testing
