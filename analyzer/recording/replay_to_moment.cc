// SPDX-License-Identifier: Apache-2.0
// A moment of a recording becomes a dump's bytes, and these are read as any dump is.
#include <algorithm>
#include <unordered_map>

#include "dump/reader.h"
#include "recording/dump_bytes.h"
#include "recording/life_tracker.h"
#include "recording/live_state.h"
#include "recording/moment.h"
#include "recording/recorded_tables.h"
#include "recording/tensor_facts.h"
#include "recording/tensor_row.h"
#include "tensorscope/rules/plain_tensor.h"

namespace tensorscope::analyzer {

namespace {

class MomentVisitor : public RecordingVisitor {
 public:
  explicit MomentVisitor(const Moment& moment) : moment_(moment) {}

  void segment(const format::RecordingSegment& segment) override {
    if (segments_++ != 0 && moment_.events == 0) passed_ = true;
    if (reached()) return;
    state_.begin(segment);
    facts_.clear();
  }
  void live_allocation(const format::Allocation& row) override {
    if (!reached()) state_.add(row);
  }

  void live_runtime_block(const format::RuntimeBlock& row) override {
    if (!reached()) state_.add(row);
  }

  void tensor(const format::Tensor& row, std::span<const int64_t> dims, bool begins_segment) override {
    if (begins_segment && !reached()) state_.add(row);
    if (begins_segment && reached()) return;
    facts_.note(row.serial(), {row, {dims.begin(), dims.end()}, state_.ns}, reached());
  }

  bool event(const format::RecordedEvent& event) override {
    passed_ = passed_ || moment_.events == 0;
    if (reached()) return learn(event);
    lives_.note(event);
    ++events_;
    state_.apply(event);
    if (event.type == format::EventType::freed && state_.freed) facts_.memory_freed(state_.freed->pointer, event.ns);
    if (event.type == format::EventType::tensor_seen) facts_.note(event, false);
    if (event.type == format::EventType::tensor_gone) facts_.forget(event.serial);
    return true;
  }

  bool table(const ChunkView& chunk) override { return tables_.take(chunk); }

  std::string dump();
  const LiveState& state() const { return state_; }
  AllocationLife life(uint64_t serial) const {
    const auto ended = ends_.find(serial);
    return ended == ends_.end() ? lives_.life(serial, false) : ended->second;
  }

 private:
  bool reached() const { return events_ >= moment_.events && (moment_.events != 0 || passed_); }
  bool learn(const format::RecordedEvent& event);
  void add_tensors(DumpBytes& out) const;
  void add_allocations(DumpBytes& out) const;
  void add_runtime_blocks(DumpBytes& out) const;
  void add_sites(DumpBytes& out) const;
  void add_totals(DumpBytes& out) const;

  const Moment moment_;
  LiveState state_;
  LifeTracker lives_;
  std::unordered_map<uint64_t, AllocationLife> ends_;  // of what was freed after the moment
  uint64_t events_ = 0;
  uint32_t segments_ = 0;
  bool passed_ = false;  // of a moment before all events: they are behind it
  TensorFactsAt facts_{state_};
  RecordedTables tables_;
  uint32_t plain_class_ = 0, moved_note_ = 0;  // strings
};

// What ended after the moment says at its end what it was.
bool MomentVisitor::learn(const format::RecordedEvent& event) {
  lives_.note(event);
  if (event.type == format::EventType::allocated) facts_.memory_allocated_later(event.pointer);
  if (event.type == format::EventType::freed && state_.allocations.contains(event.serial)) {
    ends_.try_emplace(event.serial, lives_.life(event.serial, true));
  }
  facts_.note(event, true);
  return true;
}

template <typename Map>
std::vector<uint64_t> sorted_keys(const Map& map) {
  std::vector<uint64_t> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

void MomentVisitor::add_tensors(DumpBytes& out) const {
  std::vector<format::Tensor> rows;
  std::vector<int64_t> dims;
  const auto write = [&] {
    flatbuffers::FlatBufferBuilder builder;
    auto values = builder.CreateVectorOfStructs(rows);
    auto all = builder.CreateVector(dims);
    out.add(format::kTensors, builder, format::CreateTensorRows(builder, values, all));
    rows.clear();
    dims.clear();
  };
  for (uint64_t serial : sorted_keys(state_.tensors)) {
    const RecordedTensor& tensor = state_.tensors.at(serial);
    const uint32_t released = tensor.released ? uint32_t(format::TensorFlag::released) : 0;
    const TensorFacts* known = facts_.of(serial);
    if (known == nullptr || tensor.released) {
      const TensorRow row = {.serial = serial,
                             .address = tensor.address,
                             .created_ns = tensor.created_ns,
                             .flags = released,
                             .site = tensor.site,
                             .thread = tensor.thread};
      rows.push_back(row.row());
    } else {
      const format::Tensor& f = known->row;
      // What it is was read at another moment: its gradient and its node may be others by then.
      uint32_t passing = uint32_t(format::TensorKnown::grad) | uint32_t(format::TensorKnown::grad_fn);
      const bool other_storage = facts_.has_another_storage(*known);
      if (other_storage) passing |= uint32_t(format::TensorKnown::storage);
      const uint32_t ending = uint32_t(format::TensorFlag::freed_during_dump) | uint32_t(format::TensorFlag::released);
      const TensorRow row = {.serial = serial,
                             .address = tensor.address,
                             .created_ns = tensor.created_ns,
                             .storage_base = other_storage ? 0 : f.storage_base(),
                             .storage_nbytes = other_storage ? 0 : f.storage_nbytes(),
                             .storage_offset = f.storage_offset(),
                             .numel = f.numel(),
                             .known = f.known() & ~passing,
                             .flags = f.flags() & ~ending,
                             .dims = uint32_t(dims.size()),
                             .site = tensor.site,
                             .thread = tensor.thread,
                             .class_name = known->plain ? plain_class_ : f.class_name(),
                             .note = other_storage ? moved_note_ : f.note(),
                             .itemsize = f.itemsize(),
                             .ndim = f.ndim(),
                             .device_type = f.device_type(),
                             .device_index = f.device_index(),
                             .dtype = f.dtype(),
                             .layout = f.layout()};
      rows.push_back(row.row());
      dims.insert(dims.end(), known->dims.begin(), known->dims.end());
    }
    if (rows.size() == format::kMaxRowsPerChunk) write();
  }
  write();
}

void MomentVisitor::add_allocations(DumpBytes& out) const {
  std::vector<format::Allocation> rows;
  for (uint64_t serial : sorted_keys(state_.allocations)) {
    const RecordedAllocation& a = state_.allocations.at(serial);
    rows.emplace_back(serial, a.pointer, a.nbytes, a.created_ns, a.node, a.site, a.thread,
                      format::AllocationKind(std::min<uint8_t>(a.kind, uint8_t(format::AllocationKind::MAX))),
                      uint8_t(a.inherited), a.device.type, a.device.index);
  }
  out.add_rows(format::kAllocations, rows,
               [](auto& builder, auto values, uint32_t) { return format::CreateAllocationRows(builder, values); });
}

void MomentVisitor::add_runtime_blocks(DumpBytes& out) const {
  std::vector<format::RuntimeBlock> rows;
  for (uint64_t serial : sorted_keys(state_.runtime_blocks)) {
    const RecordedBlock& block = state_.runtime_blocks.at(serial);
    rows.emplace_back(serial, block.pointer, block.nbytes, block.created_ns, block.site, block.thread,
                      format::RuntimeKind(std::min<uint8_t>(block.kind, uint8_t(format::RuntimeKind::MAX))),
                      uint8_t(block.by_torch), block.device.type, block.device.index);
  }
  if (rows.empty()) return;
  out.add_rows(format::kRuntimeBlocks, rows,
               [](auto& builder, auto values, uint32_t) { return format::CreateRuntimeBlocks(builder, values); });
}

void MomentVisitor::add_sites(DumpBytes& out) const {
  std::vector<format::Site> rows;
  for (size_t i = 0; i < tables_.stacks().size(); ++i) {
    const auto found = state_.sites.find(uint32_t(i));
    const auto [native, python] = tables_.stacks()[i];
    const Site counts = found == state_.sites.end() ? Site{} : found->second;
    rows.emplace_back(counts.tensors_live, counts.tensors_total, counts.allocations_live, counts.allocations_total,
                      counts.bytes_live, counts.bytes_total, counts.bytes_peak, native, python);
  }
  out.add_rows(format::kSites, rows,
               [](auto& builder, auto values, uint32_t first) { return format::CreateSites(builder, first, values); });
}

void MomentVisitor::add_totals(DumpBytes& out) const {
  std::vector<format::DeviceTotal> devices;
  for (const auto& [device, d] : state_.devices) {
    devices.emplace_back(d.live_bytes, d.peak_bytes, d.live_count, d.total_count, d.total_bytes, d.allocator_allocated,
                         d.allocator_reserved, d.allocator_reserved_peak, device.type, device.index);
  }
  flatbuffers::FlatBufferBuilder builder;
  auto rows = builder.CreateVectorOfStructs(devices);
  format::TotalsBuilder totals(builder);
  totals.add_devices(rows);
  totals.add_tensors_live(state_.tensors.size());
  totals.add_tensors_total(state_.tensors_total);
  out.add(format::kTotals, builder, totals.Finish());
}

std::string MomentVisitor::dump() {
  plain_class_ = tables_.add_string(rules::kPlainTensorClass);
  moved_note_ = tables_.add_string("its storage was changed, and not looked at again by then");
  DumpBytes out;
  tables_.add_process(out, moment_.ns);
  add_tensors(out);
  add_allocations(out);
  add_runtime_blocks(out);
  add_sites(out);
  tables_.add_frames_and_threads(out);
  add_totals(out);
  tables_.add_coverage(out);
  tables_.add_strings(out);
  flatbuffers::FlatBufferBuilder builder;
  out.add(format::kNames, builder, format::CreateNamesDirect(builder, false, "a recording has no names"));
  out.finish();
  return out.bytes();
}

}  // namespace

Dump dump_at(const RecordingFile& file, const std::string& path, const Moment& moment) {
  MomentVisitor visitor(moment);
  const RecordingEnds ends = file.replay(visitor);
  const std::string bytes = visitor.dump();
  Dump dump = read_dump_bytes(bytes.data(), bytes.size(), path.substr(path.rfind('/') + 1));
  dump.path = path;
  dump.moment = true;
  for (const Allocation& row : dump.allocations) dump.lives.push_back(visitor.life(row.serial));
  Process& process = dump.process;
  process.trigger = int(format::Trigger::unknown);
  process.trigger_detail = "a moment of a recording";
  process.snapshot_serial = visitor.state().serial;
  if (!ends.cut_short.empty()) {
    const std::string detail = "cut short: could not " + ends.cut_short;
    dump.coverage.push_back({"recording over time", int(format::Seen::partly), detail, 0});
  }
  dump.problems.insert(dump.problems.begin(), ends.problems.begin(), ends.problems.end());
  return dump;
}

}  // namespace tensorscope::analyzer
