// SPDX-License-Identifier: Apache-2.0
#include "dump/device_chunks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "dump/chunk.h"
#include "live/allocation_table.h"
#include "live/runtime_table.h"
#include "support/coverage.h"
#include "support/enough_memory.h"
#include "support/options.h"

namespace tensorscope::dump {

namespace {

constexpr int8_t kCuda = 1;  // c10::DeviceType

bool is_cuda(Device device, int8_t index) { return device.type == kCuda && device.index == index; }

bool is_used_cuda(const live::DeviceTotals& totals) {
  return totals.used_here && totals.device.type == kCuda && totals.device.index >= 0;
}

const char* settings() {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    if (const char* value = getenv(name); value && *value) return value;
  }
  return "";
}

// Used if torch could not be called: the kinds of blocks show the backend, too.
const char* backend_by_blocks(const live::SnapshotView& view, Device device) {
  const char* backend = "";
  for (const live::AllocationEntry& block : view.allocations) {
    if (!is_cuda(block.device, device.index)) continue;
    if (live::AllocationKind(block.kind) == live::AllocationKind::caching) return "native";
    if (live::AllocationKind(block.kind) == live::AllocationKind::runtime) backend = "none";
  }
  for (const live::RuntimeEntry& block : view.runtime_blocks) {
    if (block.by_torch && is_cuda(block.device, device.index) &&
        live::RuntimeKind(block.kind) == live::RuntimeKind::async) {
      return "cudaMallocAsync";
    }
  }
  return backend;
}

bool torch_caches(const live::SnapshotView& view, int8_t device) {
  if (getenv("PYTORCH_NO_CUDA_MEMORY_CACHING")) return false;
  return std::none_of(view.allocations.begin(), view.allocations.end(), [=](const live::AllocationEntry& block) {
    return is_cuda(block.device, device) && live::AllocationKind(block.kind) == live::AllocationKind::runtime;
  });
}

uint64_t allocated_bytes(const devices::DeviceSegments& segments) {
  uint64_t bytes = 0;
  for (const format::Segment& segment : segments.segments) bytes += segment.allocated();
  return bytes;
}

struct Segments {
  const devices::DeviceSegments* rows = nullptr;
  format::SegmentSource from = format::SegmentSource::none;
  uint64_t looked_ns = 0;
  char detail[256] = "";
};

// torch's own snapshot where there is one, else what can be derived. `derived` outlives the result.
Segments choose(const live::SnapshotView& view, const live::DeviceTotals& totals,
                const devices::AllocatorSnapshot& allocator, devices::DeviceSegments& derived) {
  Segments chosen;
  const int8_t index = totals.device.index;
  if (allocator.complete && torch_caches(view, index)) {
    chosen.from = format::SegmentSource::snapshot;
    chosen.looked_ns = allocator.looked_ns;
    derived.device = index;
    chosen.rows = &derived;
    for (const devices::DeviceSegments& told : allocator.devices) {
      if (told.device == index) chosen.rows = &told;
    }
    if (const int64_t more = int64_t(allocated_bytes(*chosen.rows) - totals.live_bytes); more != 0) {
      snprintf(chosen.detail, sizeof chosen.detail,
               "the program continued after the tables were copied: %+" PRId64 " bytes are allocated", more);
    }
    return chosen;
  }
  chosen.rows = &derived;
  const char* why = allocator.complete ? "torch does not cache" : allocator.detail;
  if (coverage(Subject::cuda_runtime).seen.load(std::memory_order_acquire) == Seen::no) {
    snprintf(chosen.detail, sizeof chosen.detail, "%s; CUDA runtime calls are not recorded either", why);
    return chosen;
  }
  uint64_t outside = 0;
  derived = devices::derive_segments(view, totals.device, outside);
  chosen.from = format::SegmentSource::runtime_calls;
  chosen.looked_ns = view.taken_ns;
  const int length = snprintf(chosen.detail, sizeof chosen.detail, "%s", why);
  if (outside != 0) {
    snprintf(chosen.detail + length, sizeof chosen.detail - size_t(length),
             "; blocks of %" PRIu64 " bytes lie in no recorded segment (expandable segments are not recorded)",
             outside);
  }
  return chosen;
}

bool append(const live::DeviceTotals& totals, const char* backend, const Segments& segments,
            const devices::DriverAnswers& driver, DumpFile& file) {
  const devices::DriverFacts* facts = driver.of(totals.device.index);
  Chunk chunk(format::kDeviceMemory, segments.rows->segments.size() * sizeof(format::Segment) +
                                         segments.rows->blocks.size() * sizeof(format::SegmentBlock) + 4096);
  flatbuffers::FlatBufferBuilder& builder = chunk.builder();
  const auto name = chunk.string(facts ? facts->name : "");
  const auto backend_text = chunk.string(backend);
  const auto settings_text = chunk.string(settings());
  const auto driver_text = chunk.string(facts ? facts->detail : driver.why());
  const auto segments_text = chunk.string(segments.detail);
  std::vector<format::DeviceProcess> others;
  for (size_t i = 0; facts && i < facts->processes_count; ++i) {
    others.emplace_back(facts->processes[i].pid, facts->processes[i].bytes);
  }
  const auto processes = builder.CreateVectorOfStructs(others);
  const auto segment_rows = builder.CreateVectorOfStructs(segments.rows->segments);
  const auto block_rows = builder.CreateVectorOfStructs(segments.rows->blocks);
  return chunk.append_to(
      file, format::CreateDeviceMemory(builder, totals.device.type, totals.device.index, name, backend_text,
                                       settings_text, facts ? facts->total : 0, facts ? facts->free : 0,
                                       facts ? facts->own : 0, processes, driver_text, segment_rows, block_rows,
                                       segments.from, segments_text, segments.looked_ns));
}

bool write_one(const live::SnapshotView& view, const live::DeviceTotals& totals,
               const devices::AllocatorSnapshot& allocator, const devices::DriverAnswers& driver, DumpFile& file,
               bool& whole) {
  devices::DeviceSegments derived;
  const Segments segments = choose(view, totals, allocator, derived);
  const devices::DriverFacts* facts = driver.of(totals.device.index);
  whole = whole && segments.from != format::SegmentSource::none && facts && facts->total != 0 && facts->own != 0;
  // torch calls its backend native also where it does not cache.
  const bool told =
      !allocator.backend.empty() && (allocator.backend != "native" || torch_caches(view, totals.device.index));
  return append(totals, told ? allocator.backend.c_str() : backend_by_blocks(view, totals.device), segments, driver,
                file);
}

bool write_without_segments(const live::DeviceTotals& totals, const devices::DriverAnswers& driver, DumpFile& file) {
  const devices::DeviceSegments none;
  Segments segments;
  segments.rows = &none;
  snprintf(segments.detail, sizeof segments.detail, "not enough memory");
  return append(totals, "", segments, driver, file);
}

}  // namespace

size_t used_cuda_devices(const live::SnapshotView& view, int8_t (&devices)[devices::DriverAnswers::kMaxDevices]) {
  size_t count = 0;
  for (const live::DeviceTotals& device : view.devices) {
    if (is_used_cuda(device) && count < devices::DriverAnswers::kMaxDevices) {
      devices[count++] = device.device.index;
    }
  }
  return count;
}

bool write_runtime_blocks(const live::SnapshotView& view, ChunkSink& file) {
  std::vector<format::RuntimeBlock> rows;
  const auto flush = [&] {
    Chunk chunk(format::kRuntimeBlocks, rows.size() * sizeof(format::RuntimeBlock) + 256);
    const auto values = chunk.builder().CreateVectorOfStructs(rows);
    rows.clear();
    return chunk.append_to(file, format::CreateRuntimeBlocks(chunk.builder(), values));
  };
  for (const live::RuntimeEntry& block : view.runtime_blocks) {
    rows.emplace_back(block.serial, reinterpret_cast<uint64_t>(block.pointer), block.nbytes, block.created_ns,
                      block.site, uint32_t(block.thread), format::RuntimeKind(block.kind), uint8_t(block.by_torch),
                      block.device.type, block.device.index);
    if (rows.size() == format::kMaxRowsPerChunk && !flush()) return false;
  }
  return rows.empty() || flush();
}

bool write_device_memory(const live::SnapshotView& view, const devices::AllocatorSnapshot& allocator,
                         devices::DriverAnswers& driver, DumpFile& file) {
  if (std::none_of(view.devices.begin(), view.devices.end(), is_used_cuda)) {
    set_coverage(Subject::device_memory, Seen::not_applicable, "no CUDA device was used");
    return true;
  }
  driver.wait();
  bool whole = true;
  for (const live::DeviceTotals& totals : view.devices) {
    if (!is_used_cuda(totals)) continue;
    bool ok = false;
    if (!run_or_abandon_on_oom([&] { ok = write_one(view, totals, allocator, driver, file, whole); })) {
      whole = false;
      ok = write_without_segments(totals, driver, file);
    }
    if (!ok) return false;
  }
  set_coverage(Subject::device_memory, whole ? Seen::yes : Seen::partly,
               whole ? "" : "the driver's or torch's data are incomplete: see the device");
  return true;
}

}  // namespace tensorscope::dump
