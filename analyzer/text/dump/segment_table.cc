// SPDX-License-Identifier: Apache-2.0
#include "text/dump/segment_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dump_generated.h"
#include "memory/segment_sums.h"
#include "text/dump/segment_map.h"
#include "text/table.h"
#include "text/units.h"

namespace tensorscope::text {

namespace {

using analyzer::DeviceMemory;
using analyzer::Segment;
using analyzer::SegmentSums;
using format::SegmentSource;
using text::bytes;
using text::count;
using text::counted;

constexpr int kWidestMap = 40, kNarrowestMap = 10;
constexpr int kBesideMap = 57;  // columns of a segment's line, but for its map and what it is for

std::string fragmentation(const SegmentSums& sums) {
  return sums.free == 0 ? "-" : fmt::format("{} %", std::lround(sums.fragmentation() * 100));
}

std::string size_or_dash(uint64_t size) { return size == 0 ? "-" : bytes(size); }

std::string where_from(const DeviceMemory& memory) {
  switch (SegmentSource(memory.segments_from)) {
    case SegmentSource::snapshot:
      return "from torch's snapshot";
    case SegmentSource::runtime_calls:
      return "from CUDA runtime calls: streams and pools are unknown";
    case SegmentSource::none:
      break;
  }
  return "";
}

// Whose requests a segment serves: "default stream", "stream 0x55d0c0ffee00, private pool (0, 1), small".
std::string serves(uint64_t stream, uint64_t pool, uint64_t user, bool small) {
  std::string text = stream == 0 ? "default stream" : fmt::format("stream {:#x}", stream);
  if (pool != 0 || user != 0) text += fmt::format(", private pool ({}, {})", user, pool);  // in torch's order
  return text + (small ? ", small" : "");
}

std::string sums_table(const SegmentSums& sums, const text::Terminal& terminal) {
  text::Table table({{.title = ""}, {.title = "", .align = text::Align::right}, {.title = "", .least = 8}});
  std::string segments = counted(sums.segments, "segment");
  if (sums.expandable > 0) segments += fmt::format(", {} expandable", count(sums.expandable));
  table.row({"reserved", bytes(sums.reserved), segments}, text::Style::bold);
  std::string allocated = counted(sums.allocated_blocks, "block");
  if (sums.rounding > 0) allocated += fmt::format("; {} of it rounding", bytes(sums.rounding));
  table.row({"  allocated", bytes(sums.allocated), allocated});
  if (sums.pending_blocks > 0) {
    table.row({"  pending free", bytes(sums.pending),
               fmt::format("{}, freed but waiting for another stream", counted(sums.pending_blocks, "block"))});
  }
  if (sums.free == 0) {
    table.row({"  free", bytes(0)});
    return table.text(terminal, false);
  }
  table.row({"  free", bytes(sums.free),
             fmt::format("{}, the largest {}; fragmentation {}", counted(sums.free_blocks, "block"),
                         bytes(sums.largest_free), fragmentation(sums))});
  if (sums.releasable > 0) {
    table.row({"    releasable", bytes(sums.releasable), "whole segments or pages; empty_cache() frees them"});
  }
  if (sums.between() > 0) {
    table.row({"    fragments", bytes(sums.between()),
               "next to blocks in use or in a private pool: only for requests that fit"});
  }
  return table.text(terminal, false);
}

std::string group_rows(const analyzer::DeviceSegments& sums, const text::Terminal& terminal) {
  const auto right = text::Align::right;
  text::Table table({{.title = "serves", .least = 14},
                     {.title = "segments", .align = right},
                     {.title = "reserved", .align = right},
                     {.title = "allocated", .align = right},
                     {.title = "pending", .align = right},
                     {.title = "free", .align = right},
                     {.title = "largest free", .align = right},
                     {.title = "fragmentation", .align = right, .least = 4}});
  for (const analyzer::SegmentGroup& group : sums.groups) {
    table.row({serves(group.stream, group.pool, group.pool_user, group.small), count(group.sums.segments),
               bytes(group.sums.reserved), bytes(group.sums.allocated),
               group.sums.pending == 0 ? "" : bytes(group.sums.pending), size_or_dash(group.sums.free),
               size_or_dash(group.sums.largest_free), fragmentation(group.sums)});
  }
  return table.text(terminal);
}

std::vector<const Segment*> largest(const DeviceMemory& memory, size_t shown) {
  std::vector<const Segment*> order;
  for (const Segment& segment : memory.segments) order.push_back(&segment);
  std::partial_sort(order.begin(), order.begin() + ptrdiff_t(shown), order.end(),
                    [](const Segment* a, const Segment* b) {
                      return a->size != b->size ? a->size > b->size : a->address < b->address;
                    });
  order.resize(shown);
  return order;
}

std::string segment_rows(const DeviceMemory& memory, size_t shown, const text::Terminal& terminal) {
  const bool streams = SegmentSource(memory.segments_from) == SegmentSource::snapshot;
  const std::vector<const Segment*> chosen = largest(memory, shown);
  std::vector<std::string> serve;
  int widest = 0;
  for (const Segment* s : chosen) {
    serve.push_back(
        !streams ? "" : serves(s->stream, s->pool, s->pool_user, s->small) + (s->expandable ? ", expandable" : ""));
    widest = std::max(widest, text::columns(serve.back()));
  }
  const int width =
      terminal.width == 0 ? kWidestMap : std::clamp(terminal.width - kBesideMap - widest, kNarrowestMap, kWidestMap);
  const auto right = text::Align::right;
  text::Table table({{.title = "address"},
                     {.title = "size", .align = right},
                     {.title = streams ? "serves" : "", .least = 14},
                     {.title = "in use", .align = right},
                     {.title = "largest free", .align = right},
                     {.title = "map"}});
  for (size_t i = 0; i < chosen.size(); i++) {
    const Segment* segment = chosen[i];
    const std::vector<analyzer::SegmentBlock> blocks = analyzer::covering_blocks(memory, *segment);
    uint64_t free = 0, in_use = 0;
    for (const analyzer::SegmentBlock& block : blocks) {
      const auto state = format::BlockState(block.state);
      if (state == format::BlockState::allocated) in_use += block.size;
      if (state == format::BlockState::free) free = std::max(free, block.size);
    }
    table.row({fmt::format("{:#x}", segment->address), bytes(segment->size), serve[i],
               in_use == 0 ? "0 %" : text::percent(in_use, segment->size), size_or_dash(free),
               text::segment_map(*segment, blocks, width)});
  }
  return table.text(terminal);
}

std::string device_text(const DeviceMemory& memory, size_t top, const text::Terminal& terminal) {
  const std::string title = fmt::format("segments of {}", memory.device.text());
  std::string remark;
  auto add = [&remark](const std::string& text) {
    if (!text.empty()) remark += (remark.empty() ? "  " : "; ") + text;
  };
  add(text::clean(memory.name));
  if (!memory.backend.empty() && memory.backend != "native") add("allocator: " + text::clean(memory.backend));
  if (!memory.segments.empty()) add(where_from(memory));
  add(text::clean(memory.settings));
  std::string out = terminal.styled(text::Style::bold, title) +
                    text::wrap(title + remark, terminal.width, 2).substr(title.size()) + "\n";
  if (memory.segments.empty()) {
    const std::string why = memory.segments_detail.empty() ? "torch's allocator holds no memory on this device"
                                                           : text::clean(memory.segments_detail);
    return out + text::wrap("  none: " + why, terminal.width, 2) + "\n";
  }
  if (!memory.segments_detail.empty()) {
    out += text::wrap("  " + text::clean(memory.segments_detail), terminal.width, 2) + "\n";
  }
  const analyzer::DeviceSegments sums = analyzer::sum_segments(memory);
  out += sums_table(sums.all, terminal);
  if (SegmentSource(memory.segments_from) == SegmentSource::snapshot) out += "\n" + group_rows(sums, terminal);
  const size_t shown = top == 0 ? memory.segments.size() : std::min(top, memory.segments.size());
  out += "\n" + terminal.styled(text::Style::bold, "largest segments");
  if (shown < memory.segments.size()) {
    out += fmt::format("  (showing {} of {}; --top N)", count(shown), count(memory.segments.size()));
  }
  return out + "\n" + segment_rows(memory, shown, terminal);
}

bool described(const analyzer::Dump& dump, analyzer::Device device) {
  return std::any_of(dump.device_memory.begin(), dump.device_memory.end(),
                     [device](const DeviceMemory& memory) { return memory.device == device; });
}

}  // namespace

std::string segment_tables(const analyzer::Dump& dump, size_t top, const text::Terminal& terminal) {
  std::string out;
  bool mapped = false;
  for (const DeviceMemory& memory : dump.device_memory) {
    out += (out.empty() ? "" : "\n") + device_text(memory, top, terminal);
    mapped |= !memory.segments.empty();
  }
  if (mapped) out += "  map: # in use, . free, w waiting for a stream, + mixed\n";
  for (const analyzer::DeviceTotal& total : dump.totals.devices) {
    if (total.device.is_cpu() || described(dump, total.device)) continue;
    out += fmt::format("{}segments of {}: not in this dump\n", out.empty() ? "" : "\n", total.device.text());
  }
  if (!out.empty()) return out;
  return "no segments: no CUDA device in this dump, and torch does not cache host memory.\n";
}

}  // namespace tensorscope::text
