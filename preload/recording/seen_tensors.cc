// SPDX-License-Identifier: Apache-2.0
#include "recording/seen_tensors.h"

#include <string.h>

#include <algorithm>
#include <iterator>

#include "dump_generated.h"
#include "support/spread_bits.h"
#include "tensorscope/rules/element_size.h"
#include "tensorscope/rules/plain_tensor.h"

namespace tensorscope::recording {

namespace {

constexpr size_t kBatch = 512;
constexpr int8_t kStrided = 0;  // c10::Layout (c10/core/Layout.h)

struct Seen {
  bool alive = false, plain = false;
  format::RecordedEvent event;
};

bool has_usual_strides(const torch::Metadata& m) {
  int64_t usual[torch::kMaxDims];
  if (m.ndim > torch::kMaxDims) return false;
  rules::usual_strides(m.sizes, m.ndim, usual);
  return std::equal(usual, usual + m.ndim, m.strides);
}

// Returns false if an event has too little room.
bool describe(const torch::Metadata& m, format::RecordedEvent& e) {
  using format::TensorFlag;
  using format::TensorKnown;
  constexpr uint32_t kNeeded = uint32_t(TensorKnown::sizes) | uint32_t(TensorKnown::strides) |
                               uint32_t(TensorKnown::dtype) | uint32_t(TensorKnown::device) |
                               uint32_t(TensorKnown::layout) | uint32_t(TensorKnown::storage);
  if ((m.known & kNeeded) != kNeeded || (m.flags & uint32_t(TensorFlag::exotic)) != 0 || m.layout != kStrided ||
      m.note[0] != 0 || strcmp(m.class_name, rules::kPlainTensorClass) != 0 ||
      rules::element_size(m.dtype) != int(m.itemsize)) {
    return false;
  }
  e.with_strides = !has_usual_strides(m);
  e.ndim = m.ndim;
  if (e.extents() > format::kMaxEventSizes) return false;
  e.type = format::EventType::tensor_seen;
  e.known = true;
  e.tensor_known = m.known;
  e.tensor_flags = m.flags;
  e.dtype = m.dtype;
  e.device_type = m.device_type;
  e.device_index = m.device_index;
  std::copy_n(m.sizes, m.ndim, e.sizes);
  if (e.with_strides) std::copy_n(m.strides, m.ndim, e.sizes + m.ndim);
  e.pointer = m.storage_base;
  e.nbytes = m.storage_nbytes;
  e.offset = m.storage_offset;
  return true;
}

// Never 0.
uint64_t digest_of(const format::RecordedEvent& e) {
  uint64_t digest = 0;
  const auto add = [&](uint64_t word) { digest = spread_bits(digest ^ word); };
  add(e.pointer);
  add(e.nbytes);
  add(uint64_t(e.offset));
  add(uint64_t{e.tensor_known} << 32 | e.tensor_flags);
  add(uint64_t(uint8_t(e.dtype)) << 16 | uint64_t(e.with_strides) << 8 | e.ndim);
  for (size_t i = 0; i < e.extents(); ++i) add(uint64_t(e.sizes[i]));
  return digest != 0 ? digest : 1;
}

}  // namespace

void SeenTensors::begin(const live::SnapshotView& view) {
  alive_.clear();
  newest_ = again_ = 0;
  for (const live::TensorEntry& t : view.tensors) {
    if (!t.released) alive_.emplace_hint(alive_.end(), t.serial, Alive{t});
  }
}

void SeenTensors::made(const live::Event& event, uint64_t ns) {
  live::TensorEntry made{};
  made.impl = reinterpret_cast<const void*>(event.a);
  made.serial = event.serial;
  made.created_ns = ns;
  made.site = event.site;
  made.thread = event.thread;
  alive_.insert_or_assign(event.serial, Alive{made});
}

std::vector<live::TensorEntry> SeenTensors::newest(size_t most) const {
  std::vector<live::TensorEntry> entries;
  for (auto it = alive_.rbegin(); it != alive_.rend() && entries.size() < most; ++it)
    entries.push_back(it->second.entry);
  return entries;
}

void SeenTensors::look_at(torch::MetadataReader& reader, Map::iterator first, size_t count,
                          std::vector<format::RecordedEvent>& events, std::vector<live::TensorEntry>& others) {
  std::vector<live::TensorEntry> entries(count);
  std::vector<Seen> all_seen(count);
  auto it = first;
  for (live::TensorEntry& to : entries) to = (it++)->second.entry;
  live::look_at_live({entries.data(), count}, 0, count, [&](size_t i) {
    torch::Metadata m;
    reader.read(entries[i].impl, false, m);
    all_seen[i].alive = true;
    all_seen[i].plain = describe(m, all_seen[i].event);
  });
  it = first;
  for (size_t i = 0; i < count; ++i, ++it) {
    Seen& seen = all_seen[i];
    Alive& known = it->second;
    if (!seen.alive) continue;
    if (!seen.plain) {
      if (known.digest == 0) others.push_back(entries[i]);
      known.digest = 1;
      continue;
    }
    const uint64_t digest = digest_of(seen.event);
    if (digest == known.digest) continue;
    known.digest = digest;
    seen.event.serial = it->first;
    events.push_back(seen.event);
  }
}

void SeenTensors::look(torch::MetadataReader& reader, Extent extent, std::vector<format::RecordedEvent>& events,
                       std::vector<live::TensorEntry>& others) {
  const auto look_from = [&](Map::iterator first, Map::iterator end, size_t most) {
    while (first != end && most > 0) {
      size_t count = 0;
      auto next = first;
      for (; next != end && count < std::min(most, kBatch); ++count) ++next;
      look_at(reader, first, count, events, others);
      most -= count;
      first = next;
    }
    return first;
  };
  const Serial newest_before = newest_;
  look_from(alive_.upper_bound(newest_before), alive_.end(), SIZE_MAX);
  if (!alive_.empty()) newest_ = std::max(newest_, alive_.rbegin()->first);
  const auto end_of_old = alive_.upper_bound(newest_before);
  const bool all = extent == Extent::all;
  const auto next = look_from(all ? alive_.begin() : alive_.upper_bound(again_), end_of_old, all ? SIZE_MAX : kShare);
  again_ = next == end_of_old ? 0 : std::prev(next)->first;
}

}  // namespace tensorscope::recording
