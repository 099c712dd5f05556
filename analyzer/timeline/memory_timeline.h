// SPDX-License-Identifier: Apache-2.0
// What is known of a recording over time: live bytes of each device and by category, its peak, steps, what sites
// allocate and for how long, spikes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dump/device.h"
#include "ownership/memory_category.h"
#include "recording/moment.h"

namespace tensorscope::analyzer {

using CategoryBytes = std::array<uint64_t, category::kCategories>;

// Live bytes, with what they are for. The categories add up to `bytes`; empty where they were not asked for.
struct LiveBytes {
  uint64_t bytes = 0;
  CategoryBytes categories{};
  uint64_t inferred = 0;  // of these bytes the category is not a dump's
};

// Of the segments of a device's allocator, at one moment.
struct FreeMemory {
  uint64_t ns = 0;
  uint64_t segments = 0, reserved = 0;
  uint64_t free = 0, largest = 0;  // in blocks of no tensor; the largest piece of it
  // The share of the free bytes outside the largest piece.
  double fragmentation() const { return free == 0 ? 0 : 1 - double(largest) / double(free); }
};

struct DeviceCurve {
  Device device;
  // Of each of equal parts of the recording's time: the most that was live in it.
  std::vector<uint64_t> highest;
  std::vector<LiveBytes> parts;  // the same with categories
  uint64_t peak_bytes = 0, peak_ns = 0, peak_events = 0;
  uint64_t peak_step = 0;
  LiveBytes at_peak;
  uint64_t end_bytes = 0;
  // As the device's allocator said: the most of each part, and how much of it was free then.
  std::vector<uint64_t> reserved, unused;
  uint64_t reserved_peak = 0;
  // At up to a hundred moments; empty where no segment was seen.
  std::vector<FreeMemory> free_memory;
  FreeMemory free_at_peak;
  uint64_t reserved_at_peak = 0, allocated_at_peak = 0;  // at the peak of live bytes
};

struct StepRow {
  uint64_t number = 0;
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t allocations = 0, bytes = 0;              // made in it
  uint64_t begin_live = 0, end_live = 0, peak = 0;  // bytes of the timeline's device
  LiveBytes at_peak;
};

struct SiteChurn {
  uint32_t site = 0;
  uint64_t allocations = 0, bytes = 0;  // made in all
  uint64_t live_at_peak = 0;            // bytes of the timeline's device
  uint64_t live_at_end = 0;
  uint64_t short_lived = 0;  // bytes of those that were freed within their step, or within 10 ms
};

// Sites with one answer together: a source line. `peak`: the most that they had at once.
struct LineMemory {
  uint64_t allocations = 0, bytes = 0;
  uint64_t live = 0, peak = 0, live_at_peak = 0;  // live: at the end
};

// For a moment more was live than before and after it.
struct Spike {
  uint64_t begin_ns = 0, end_ns = 0, peak_ns = 0, peak_events = 0;
  uint64_t bytes = 0;  // above the higher of its two sides
  uint64_t step = 0;
  uint32_t site = 0;  // of the last allocation before its height
  // What was allocated since it began and lived at its height, the largest site first.
  struct Part {
    uint32_t site = 0;
    uint64_t bytes = 0;
  };
  std::vector<Part> parts;
};

struct MemoryTimeline {
  uint64_t start_ns = 0;              // of the process
  uint64_t begin_ns = 0, end_ns = 0;  // of the recording
  uint64_t events = 0, lost = 0, late = 0;
  uint32_t segments = 0;
  bool ended = false;
  std::string cut_short;      // why it could not be written any further; "": it could
  bool is_last_part = false;  // what was recorded before begin_ns has been discarded
  std::vector<std::string> problems;
  Device device;  // what steps, sites and spikes are of: the device with the highest peak, the CPU where no other is
  std::vector<DeviceCurve> curves;
  bool steps_seen = false;
  bool categories_known = false;
  std::vector<StepRow> steps;
  std::vector<SiteChurn> sites;  // by bytes, most first
  std::vector<LineMemory> lines;
  // Freed allocations by how long they lived: < 1 ms, 10 ms, 100 ms, 1 s, 10 s, longer; then those that are not freed.
  static constexpr size_t kLifetimes = 7;
  uint64_t lifetime_counts[kLifetimes] = {}, lifetime_bytes[kLifetimes] = {};
  std::vector<Spike> spikes;  // the highest first

  const DeviceCurve* curve() const;  // of `device`; null: nothing was allocated
  Moment peak() const;               // its end where nothing was allocated
};

// Questions about a recording beside its bytes, made once its peak is known.
struct TimelineQuestions {
  const MemoryCategories* categories = nullptr;
  std::vector<std::vector<uint32_t>> lines;  // of each site: which lines it belongs to
  size_t line_count = 0;
};

}  // namespace tensorscope::analyzer
