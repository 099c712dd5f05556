// SPDX-License-Identifier: Apache-2.0
// A moment of a recording becomes a dump's bytes, and these are read as any dump is.
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "dump/chunk_root.h"
#include "dump/reader.h"
#include "recording/life_tracker.h"
#include "recording/live_state.h"
#include "recording/moment.h"
#include "tensorscope/dump_format.h"
#include "tensorscope/rules/element_size.h"
#include "tensorscope/rules/plain_tensor.h"

namespace tensorscope::analyzer {

namespace {

class DumpBytes {
 public:
  DumpBytes() {
    format::FileHeader header{};
    std::copy_n(format::kMagic, sizeof header.magic, header.magic);
    header.major = format::kFormatMajor;
    header.minor = format::kFormatMinor;
    header.checksum = format::header_checksum(header);
    put(&header, sizeof header);
  }

  template <typename Table>
  void add(uint32_t type, flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Table> root) {
    builder.FinishSizePrefixed(root);
    add(type, builder.GetBufferPointer(), builder.GetSize());
  }
  void add(uint32_t type, const void* payload, size_t length) {
    format::ChunkHeader header = {type, 0, length, 0};
    header.checksum = format::chunk_checksum(header, payload);
    put(&header, sizeof header);
    put(payload, length);
    bytes_.resize(bytes_.size() + format::padding(length));
    ++chunks_;
  }
  void finish() {
    flatbuffers::FlatBufferBuilder builder;
    add(format::kEnd, builder, format::CreateEndMark(builder, chunks_, bytes_.size()));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void put(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  std::string bytes_;
  uint32_t chunks_ = 0;
};

// What a tensor is, from where the recording says it.
struct TensorFacts {
  format::Tensor row;
  std::vector<int64_t> dims;
  uint64_t ns = 0;                // when it was so; rows are read a little later
  bool plain = false;             // a c10::TensorImpl, which events do not say
  bool storage_is_later = false;  // made after the moment
};

// The strides of a dense tensor in the usual order, where the event has none.
void add_strides(const format::RecordedEvent& event, std::vector<int64_t>& dims) {
  if (event.with_strides) {
    dims.insert(dims.end(), event.sizes + event.ndim, event.sizes + event.extents());
    return;
  }
  dims.resize(2 * event.ndim);
  rules::usual_strides(event.sizes, event.ndim, dims.data() + event.ndim);
}

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
    note_facts(row.serial(), {row, {dims.begin(), dims.end()}, state_.ns}, reached());
  }

  bool event(const format::RecordedEvent& event) override {
    passed_ = passed_ || moment_.events == 0;
    if (reached()) return learn(event);
    lives_.note(event);
    ++events_;
    state_.apply(event);
    if (event.type == format::EventType::freed && state_.freed) freed_ns_[state_.freed->pointer] = event.ns;
    if (event.type == format::EventType::tensor_seen) note_facts_of(event, false);
    if (event.type == format::EventType::tensor_gone) facts_.erase(event.serial);
    return true;
  }

  bool table(const ChunkView& chunk) override {
    switch (chunk.type) {
      case format::kProcess:
        return !process_.empty() || keep<format::Process>(chunk, process_);
      case format::kSharedObjects:
        return keep<format::SharedObjects>(chunk, objects_);
      case format::kStrings:
        return each<format::Strings>(chunk, [&](const auto* text) { strings_.push_back(text->str()); });
      case format::kCodes:
        return each<format::Codes>(chunk, [&](const auto* row) { codes_.push_back(*row); });
      case format::kThreads:
        return each<format::Threads>(chunk, [&](const auto* row) { threads_.push_back(*row); });
      case format::kSites:
        return each<format::Sites>(chunk, [&](const auto* row) { stacks_.push_back({row->native(), row->python()}); });
      case format::kNativeFrames:
        return keep_frames<format::NativeFrames>(chunk);
      case format::kPythonFrames:
        return keep_frames<format::PythonFrames>(chunk);
      case format::kSourceLines:
        return keep<format::SourceLines>(chunk, source_lines_);
      case format::kCoverage:
        return keep<format::Coverages>(chunk, coverage_);
      default:
        return true;
    }
  }

  std::string dump();
  const LiveState& state() const { return state_; }
  AllocationLife life(uint64_t serial) const {
    const auto ended = ends_.find(serial);
    return ended == ends_.end() ? lives_.life(serial, false) : ended->second;
  }

 private:
  template <typename Table>
  static bool keep(const ChunkView& chunk, std::string& payload) {
    if (chunk_root<Table>(chunk) == nullptr) return false;
    payload.assign(reinterpret_cast<const char*>(chunk.payload), chunk.length);
    return true;
  }
  template <typename Table>
  bool keep_frames(const ChunkView& chunk) {
    std::string payload;
    if (!keep<Table>(chunk, payload)) return false;
    frames_.emplace_back(chunk.type, std::move(payload));
    return true;
  }
  // Calls `take` for each of the table's values.
  template <typename Table, typename Take>
  static bool each(const ChunkView& chunk, Take take) {
    const Table* in = chunk_root<Table>(chunk);
    if (in == nullptr) return false;
    if (in->values()) {
      for (const auto* value : *in->values()) take(value);
    }
    return true;
  }
  bool reached() const { return events_ >= moment_.events && (moment_.events != 0 || passed_); }
  bool learn(const format::RecordedEvent& event);
  void note_facts_of(const format::RecordedEvent& event, bool later);
  void note_facts(uint64_t serial, TensorFacts facts, bool later);
  bool is_live_memory(uint64_t pointer) const;
  bool has_another_storage(const TensorFacts& facts) const;
  void add_tensors(DumpBytes& out) const;
  void add_allocations(DumpBytes& out) const;
  void add_runtime_blocks(DumpBytes& out) const;
  void add_sites(DumpBytes& out) const;
  void add_totals(DumpBytes& out) const;
  void add_coverage(DumpBytes& out) const;
  void set_time();
  uint32_t string(const char* text) {
    strings_.emplace_back(text);
    return uint32_t(strings_.size() - 1);
  }

  const Moment moment_;
  LiveState state_;
  LifeTracker lives_;
  std::unordered_map<uint64_t, AllocationLife> ends_;  // of what was freed after the moment
  uint64_t events_ = 0;
  uint32_t segments_ = 0;
  bool passed_ = false;  // of a moment before all events: they are behind it
  std::unordered_map<uint64_t, TensorFacts> facts_;
  std::unordered_map<uint64_t, uint64_t> freed_ns_;   // by pointer: when memory there was last freed
  mutable std::unordered_set<uint64_t> live_memory_;  // pointers, at the moment
  std::unordered_set<uint64_t> later_memory_;         // pointers, allocated after it
  std::string process_, objects_, source_lines_, coverage_;
  std::vector<std::string> strings_;
  uint32_t plain_class_ = 0, moved_note_ = 0;  // strings
  std::vector<format::Code> codes_;
  std::vector<format::Thread> threads_;
  std::vector<std::pair<uint32_t, uint32_t>> stacks_;
  std::vector<std::pair<uint32_t, std::string>> frames_;
};

// What ended after the moment says at its end what it was.
bool MomentVisitor::learn(const format::RecordedEvent& event) {
  lives_.note(event);
  if (event.type == format::EventType::allocated) later_memory_.insert(event.pointer);
  if (event.type == format::EventType::freed && state_.allocations.contains(event.serial)) {
    ends_.try_emplace(event.serial, lives_.life(event.serial, true));
  }
  note_facts_of(event, true);
  return true;
}

// Before the moment the last look counts; of `later` ones the first, where there was none before or what it saw has
// another storage by now.
void MomentVisitor::note_facts(uint64_t serial, TensorFacts facts, bool later) {
  if (!later) {
    facts_.insert_or_assign(serial, std::move(facts));
    return;
  }
  if (!state_.tensors.contains(serial)) return;
  facts.storage_is_later = later_memory_.contains(facts.row.storage_base());
  const auto [known, is_new] = facts_.try_emplace(serial, facts);
  if (!is_new && has_another_storage(known->second) && !facts.storage_is_later &&
      is_live_memory(facts.row.storage_base())) {
    known->second = std::move(facts);
  }
}

void MomentVisitor::note_facts_of(const format::RecordedEvent& event, bool later) {
  using format::TensorFlag;
  using format::TensorKnown;
  const bool seen = event.type == format::EventType::tensor_seen;
  if (!event.known || (!seen && event.type != format::EventType::tensor_released)) return;
  const auto tensor = state_.tensors.find(event.serial);
  if (tensor == state_.tensors.end()) return;
  uint32_t known = uint32_t(TensorKnown::sizes) | uint32_t(TensorKnown::dtype) | uint32_t(TensorKnown::device) |
                   uint32_t(TensorKnown::storage);
  uint32_t flags = 0;
  std::vector<int64_t> dims(event.sizes, event.sizes + event.ndim);
  if (seen) {
    known |= uint32_t(TensorKnown::strides) | uint32_t(TensorKnown::layout);
    known |= event.tensor_known & (uint32_t(TensorKnown::requires_grad) | uint32_t(TensorKnown::leaf));
    flags = event.tensor_flags & (uint32_t(TensorFlag::requires_grad) | uint32_t(TensorFlag::leaf) |
                                  uint32_t(TensorFlag::view) | uint32_t(TensorFlag::inherited));
    add_strides(event, dims);
  }
  int64_t numel = 1;
  for (size_t i = 0; i < event.ndim; ++i) numel = __builtin_mul_overflow(numel, event.sizes[i], &numel) ? 0 : numel;
  const format::Tensor row(event.serial, tensor->second.address, tensor->second.created_ns, event.pointer, event.nbytes,
                           event.offset, numel, 0, 0, known, flags, 0, tensor->second.site, tensor->second.thread, 0, 0,
                           0, uint16_t(rules::element_size(event.dtype)), uint8_t(event.ndim), event.device_type,
                           event.device_index, event.dtype, int8_t(seen ? 0 : -1));
  note_facts(event.serial, {row, std::move(dims), event.ns, true}, later);
}

bool MomentVisitor::is_live_memory(uint64_t pointer) const {
  if (live_memory_.empty()) {
    for (const auto& [serial, a] : state_.allocations) live_memory_.insert(a.pointer);
  }
  return live_memory_.contains(pointer);
}

// The memory that it had was freed before the moment, and nothing lies there: it was given other memory, or none. Or it
// got it after the moment.
bool MomentVisitor::has_another_storage(const TensorFacts& facts) const {
  if (facts.storage_is_later) return true;
  const auto freed = freed_ns_.find(facts.row.storage_base());
  return freed != freed_ns_.end() && freed->second >= facts.ns && !is_live_memory(facts.row.storage_base());
}

template <typename Map>
std::vector<uint64_t> sorted_keys(const Map& map) {
  std::vector<uint64_t> keys;
  keys.reserve(map.size());
  for (const auto& [key, value] : map) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Rows in as many chunks as they need, one at the least; `create(builder, rows, first)` makes a chunk's table.
template <typename Row, typename Create>
void add_rows(DumpBytes& out, uint32_t type, const std::vector<Row>& rows, Create create) {
  size_t first = 0;
  do {
    flatbuffers::FlatBufferBuilder builder;
    const size_t count = std::min<size_t>(format::kMaxRowsPerChunk, rows.size() - first);
    const auto values = builder.CreateVectorOfStructs(rows.data() + first, count);
    out.add(type, builder, create(builder, values, uint32_t(first)));
    first += count;
  } while (first < rows.size());
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
    const auto known = facts_.find(serial);
    if (known == facts_.end() || tensor.released) {
      rows.emplace_back(serial, tensor.address, tensor.created_ns, 0, 0, 0, 0, 0, 0, 0, released, 0, tensor.site,
                        tensor.thread, 0, 0, 0, uint16_t(0), uint8_t(0), int8_t(-1), int8_t(-1), int8_t(-1),
                        int8_t(-1));
    } else {
      const format::Tensor& f = known->second.row;
      // What it is was read at another moment: its gradient and its node may be others by then.
      uint32_t passing = uint32_t(format::TensorKnown::grad) | uint32_t(format::TensorKnown::grad_fn);
      const bool other_storage = has_another_storage(known->second);
      if (other_storage) passing |= uint32_t(format::TensorKnown::storage);
      const uint32_t lasting = f.known() & ~passing;
      const uint32_t flags =
          f.flags() & ~(uint32_t(format::TensorFlag::freed_during_dump) | uint32_t(format::TensorFlag::released));
      rows.emplace_back(serial, tensor.address, tensor.created_ns, other_storage ? 0 : f.storage_base(),
                        other_storage ? 0 : f.storage_nbytes(), f.storage_offset(), f.numel(), 0, 0, lasting, flags,
                        uint32_t(dims.size()), tensor.site, tensor.thread,
                        known->second.plain ? plain_class_ : f.class_name(), 0, other_storage ? moved_note_ : f.note(),
                        f.itemsize(), f.ndim(), f.device_type(), f.device_index(), f.dtype(), f.layout());
      dims.insert(dims.end(), known->second.dims.begin(), known->second.dims.end());
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
  add_rows(out, format::kAllocations, rows,
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
  add_rows(out, format::kRuntimeBlocks, rows,
           [](auto& builder, auto values, uint32_t) { return format::CreateRuntimeBlocks(builder, values); });
}

void MomentVisitor::add_sites(DumpBytes& out) const {
  std::vector<format::Site> rows;
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const auto found = state_.sites.find(uint32_t(i));
    const Site counts = found == state_.sites.end() ? Site{} : found->second;
    rows.emplace_back(counts.tensors_live, counts.tensors_total, counts.allocations_live, counts.allocations_total,
                      counts.bytes_live, counts.bytes_total, counts.bytes_peak, stacks_[i].first, stacks_[i].second);
  }
  add_rows(out, format::kSites, rows,
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

void MomentVisitor::add_coverage(DumpBytes& out) const {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<format::Coverage>> rows;
  const auto add = [&](const char* subject, format::Seen seen, const char* detail) {
    rows.push_back(format::CreateCoverageDirect(builder, subject, seen, detail));
  };
  constexpr char kNotKept[] = "not in a recording; take a dump for it";
  constexpr std::array<std::string_view, 3> kFromDumps = {"names", "module paths", "autograd graph"};
  for (const std::string_view subject : kFromDumps) add(subject.data(), format::Seen::no, kNotKept);
  if (const auto* kept =
          coverage_.empty() ? nullptr : flatbuffers::GetSizePrefixedRoot<format::Coverages>(coverage_.data());
      kept && kept->values()) {
    for (const auto* row : *kept->values()) {
      if (!row->subject() || std::ranges::find(kFromDumps, row->subject()->string_view()) != kFromDumps.end()) {
        continue;
      }
      rows.push_back(format::CreateCoverageDirect(builder, row->subject()->c_str(), row->seen(),
                                                  row->detail() ? row->detail()->c_str() : "", row->missed()));
    }
  }
  out.add(format::kCoverage, builder, format::CreateCoveragesDirect(builder, &rows));
}

// In the PROC chunk as it is: ages are measured from there.
void MomentVisitor::set_time() {
  if (process_.empty()) return;
  auto* table = flatbuffers::GetMutableSizePrefixedRoot<flatbuffers::Table>(process_.data());
  const auto* process = flatbuffers::GetSizePrefixedRoot<format::Process>(process_.data());
  const uint64_t unix_ns = process->dump_unix_ns() + (moment_.ns - process->dump_ns());
  table->SetField<uint64_t>(format::Process::VT_DUMP_UNIX_NS, unix_ns, 0);
  table->SetField<uint64_t>(format::Process::VT_DUMP_NS, moment_.ns, 0);
}

std::string MomentVisitor::dump() {
  if (strings_.empty()) strings_.emplace_back();
  plain_class_ = string(rules::kPlainTensorClass);
  moved_note_ = string("its storage was changed, and not looked at again by then");
  DumpBytes out;
  set_time();
  out.add(format::kProcess, process_.data(), process_.size());
  if (!objects_.empty()) out.add(format::kSharedObjects, objects_.data(), objects_.size());
  if (!source_lines_.empty()) out.add(format::kSourceLines, source_lines_.data(), source_lines_.size());
  add_tensors(out);
  add_allocations(out);
  add_runtime_blocks(out);
  add_sites(out);
  for (const auto& [type, payload] : frames_) out.add(type, payload.data(), payload.size());
  {
    flatbuffers::FlatBufferBuilder builder;
    auto rows = builder.CreateVectorOfStructs(codes_);
    out.add(format::kCodes, builder, format::CreateCodes(builder, rows));
  }
  {
    flatbuffers::FlatBufferBuilder builder;
    auto rows = builder.CreateVectorOfStructs(threads_);
    out.add(format::kThreads, builder, format::CreateThreads(builder, rows));
  }
  add_totals(out);
  add_coverage(out);
  {
    flatbuffers::FlatBufferBuilder builder;
    auto rows = builder.CreateVectorOfStrings(strings_);
    out.add(format::kStrings, builder, format::CreateStrings(builder, rows));
  }
  {
    flatbuffers::FlatBufferBuilder builder;
    out.add(format::kNames, builder, format::CreateNamesDirect(builder, false, "a recording has no names"));
  }
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
