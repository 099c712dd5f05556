#include "recording/seen_tensors.h"

#include <string.h>

#include <algorithm>
#include <iterator>

#include "dump_generated.h"
#include "support/spread_bits.h"
#include "tensorscope/rules/element_size.h"

namespace tensorscope::recording {

namespace {

constexpr size_t kBatch = 512;
constexpr char kPlainClass[] = "N3c1010TensorImplE";
constexpr int8_t kStrided = 0;  // c10::Layout (c10/core/Layout.h)

struct Seen {
  bool alive = false, plain = false;
  format::RecordedEvent event;
};

// Strides of a dense tensor in the usual order, as torch sets them (c10/core/SymbolicShapeMeta.h,
// empty_tensor_restride).
bool has_usual_strides(const torch::Metadata& m) {
  int64_t stride = 1;
  for (size_t i = m.ndim; i-- > 0;) {
    if (m.strides[i] != stride) return false;
    if (__builtin_mul_overflow(stride, std::max<int64_t>(m.sizes[i], 1), &stride)) return false;
  }
  return true;
}

// False: more is to be said than an event has room for.
bool describe(const torch::Metadata& m, format::RecordedEvent& e) {
  using format::TensorFlag;
  using format::TensorKnown;
  constexpr uint32_t kNeeded = uint32_t(TensorKnown::sizes) | uint32_t(TensorKnown::strides) |
                               uint32_t(TensorKnown::dtype) | uint32_t(TensorKnown::device) |
                               uint32_t(TensorKnown::layout) | uint32_t(TensorKnown::storage);
  if ((m.known & kNeeded) != kNeeded || (m.flags & uint32_t(TensorFlag::exotic)) != 0 || m.layout != kStrided ||
      m.note[0] != 0 || strcmp(m.class_name, kPlainClass) != 0 || rules::element_size(m.dtype) != int(m.itemsize)) {
    return false;
  }
  e.with_strides = !has_usual_strides(m);
  if (size_t{m.ndim} * (e.with_strides ? 2 : 1) > format::kMostEventSizes) return false;
  e.type = format::EventType::tensor_seen;
  e.known = true;
  e.tensor_known = m.known;
  e.tensor_flags = m.flags;
  e.dtype = m.dtype;
  e.device_type = m.device_type;
  e.device_index = m.device_index;
  e.ndim = m.ndim;
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
  for (size_t i = 0; i < e.ndim * (e.with_strides ? 2 : 1); ++i) add(uint64_t(e.sizes[i]));
  return digest != 0 ? digest : 1;
}

}  // namespace

void SeenTensors::begin(const live::SnapshotView& view) {
  alive_.clear();
  newest_ = again_ = 0;
  for (const live::TensorEntry& t : view.tensors) {
    if (!t.released) alive_.emplace_hint(alive_.end(), t.serial, Alive{t.impl, t.created_ns, 0, t.site, t.thread});
  }
}

void SeenTensors::made(const live::Event& event, uint64_t ns) {
  const Alive made = {reinterpret_cast<const void*>(event.a), ns, 0, event.site, event.thread};
  alive_.insert_or_assign(event.serial, made);
}

live::TensorEntry SeenTensors::entry(const Map::value_type& row) {
  live::TensorEntry entry{};
  entry.impl = row.second.impl;
  entry.serial = row.first;
  entry.created_ns = row.second.ns;
  entry.site = row.second.site;
  entry.thread = row.second.thread;
  return entry;
}

std::vector<live::TensorEntry> SeenTensors::newest(size_t most) const {
  std::vector<live::TensorEntry> entries;
  for (auto it = alive_.rbegin(); it != alive_.rend() && entries.size() < most; ++it) entries.push_back(entry(*it));
  return entries;
}

void SeenTensors::look_at(torch::MetadataReader& reader, Map::iterator first, size_t count,
                          std::vector<format::RecordedEvent>& events, std::vector<live::TensorEntry>& others) {
  struct Look {
    torch::MetadataReader& reader;
    std::vector<live::TensorEntry> entries;
    std::vector<Seen> seen;
  } look = {reader, {}, {}};
  look.entries.resize(count);
  look.seen.resize(count);
  auto it = first;
  for (live::TensorEntry& to : look.entries) to = entry(*it++);
  live::look_at_live(
      {look.entries.data(), count}, 0, count,
      [](size_t i, void* context) {
        auto& look = *static_cast<Look*>(context);
        torch::Metadata m;
        look.reader.read(look.entries[i].impl, false, m);
        look.seen[i].alive = true;
        look.seen[i].plain = describe(m, look.seen[i].event);
      },
      &look);
  it = first;
  for (size_t i = 0; i < count; ++i, ++it) {
    Seen& seen = look.seen[i];
    Alive& known = it->second;
    if (!seen.alive) continue;
    if (!seen.plain) {
      if (known.digest == 0) others.push_back(look.entries[i]);
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
