// SPDX-License-Identifier: Apache-2.0
#include "recording/recording_file.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "dump/chunk_root.h"
#include "dump/reader.h"
#include "tensorscope/recording_format.h"
#include "tensorscope/rules/element_size.h"

namespace tensorscope::analyzer {

namespace {

constexpr FileKind kFileKind = {format::kRecordingMagic, format::kRecordingMajor, "recording"};

// Events of one flush may still lack some that were being written: they are passed on when the next one is there.
class Teller {
 public:
  Teller(const std::string& name, RecordingVisitor& visitor, RecordingEnds& ends)
      : name_(name), visitor_(visitor), ends_(ends) {}

  void take(const ChunkView& chunk) {
    switch (chunk.type) {
      case format::kSegment:
        return begin_segment(chunk);
      case format::kEvents:
        return add_events(chunk);
      case format::kAllocations:
        return add_allocations(chunk);
      case format::kRuntimeBlocks:
        return add_runtime_blocks(chunk);
      case format::kTensors:
        return add_tensors(chunk);
      case format::kRecordingEnd:
        return add_end(chunk);
      default:
        if (!visitor_.table(chunk)) malformed(chunk);
    }
  }

  void finish() { tell(UINT64_MAX); }

 private:
  struct Waiting {
    uint64_t order;
    bool makes;
    format::RecordedEvent event;
  };

  // A few are enough to see where the file was changed.
  void damaged_in(const ChunkView& chunk) {
    constexpr uint64_t kMaxNamed = 3;
    ++ends_.damaged;
    if (chunk.offset == damaged_at_) return;
    damaged_at_ = chunk.offset;
    if (++damaged_chunks_ > kMaxNamed + 1) return;
    if (!ends_.damaged_chunks.empty()) ends_.damaged_chunks += ", ";
    ends_.damaged_chunks += damaged_chunks_ > kMaxNamed
                                ? "and others"
                                : "the '" + chunk_name(chunk.type) + "' chunk at byte " + with_commas(chunk.offset);
  }
  void malformed(const ChunkView& chunk) { ends_.problems.push_back(malformed_chunk(chunk, name_)); }

  template <typename Root>
  const Root* sound(const ChunkView& chunk) {
    const Root* root = chunk_root<Root>(chunk);
    if (root == nullptr) malformed(chunk);
    return root;
  }

  void begin_segment(const ChunkView& chunk) {
    tell(UINT64_MAX);
    told_ = 0;
    const auto* segment = sound<format::RecordingSegment>(chunk);
    if (!segment) return;
    begins_segment_ = true;
    ends_.end_ns = std::max(ends_.end_ns, segment->begin_ns());
    visitor_.segment(*segment);
  }

  void add_events(const ChunkView& chunk) {
    const auto* events = sound<format::Events>(chunk);
    if (!events || !events->data()) return;
    begins_segment_ = false;
    if (events->flush() != flush_) {
      tell(before_last_);
      before_last_ = last_;
      flush_ = events->flush();
    }
    last_ = std::max(last_, events->serial());
    ends_.end_ns = std::max(ends_.end_ns, events->end_ns());
    format::EventDecoder decoder(events->data()->data(), events->data()->size(), events->begin_ns(),
                                 rules::element_size);
    format::RecordedEvent event;
    while (decoder.next(event)) {
      waiting_.push_back({event.order, event.makes(), event});
      ++ends_.events;
    }
    if (decoder.damaged()) damaged_in(chunk);
  }

  void tell(uint64_t up_to) {
    if (waiting_.empty()) return;
    std::stable_sort(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
      if (a.order != b.order) return a.order < b.order;
      return a.makes != b.makes ? a.makes : a.event.ns < b.event.ns;
    });
    const auto end = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.order > up_to; });
    for (auto it = waiting_.begin(); it != end; ++it) {
      if (it->order < told_) ++ends_.late;
      told_ = std::max(told_, it->order);
      if (wanted_) wanted_ = visitor_.event(it->event);
    }
    waiting_.erase(waiting_.begin(), end);
  }

  void add_allocations(const ChunkView& chunk) {
    const auto* rows = sound<format::AllocationRows>(chunk);
    if (!rows || !rows->values()) return;
    for (const format::Allocation* row : *rows->values()) visitor_.live_allocation(*row);
  }

  void add_runtime_blocks(const ChunkView& chunk) {
    const auto* rows = sound<format::RuntimeBlocks>(chunk);
    if (!rows || !rows->values()) return;
    for (const format::RuntimeBlock* row : *rows->values()) visitor_.live_runtime_block(*row);
  }

  void add_tensors(const ChunkView& chunk) {
    const auto* rows = sound<format::TensorRows>(chunk);
    if (!rows || !rows->values()) return;
    const size_t room = rows->dims() ? rows->dims()->size() : 0;
    for (const format::Tensor* row : *rows->values()) {
      const bool sizes = (row->known() & uint32_t(format::TensorKnown::sizes)) != 0;
      const bool strides = (row->known() & uint32_t(format::TensorKnown::strides)) != 0;
      const size_t count = size_t(row->ndim()) * ((sizes ? 1 : 0) + (strides ? 1 : 0));
      if (row->dims() > room || count > room - row->dims()) {
        damaged_in(chunk);
        continue;
      }
      std::span<const int64_t> dims;
      if (count > 0) dims = {rows->dims()->data() + row->dims(), count};
      visitor_.tensor(*row, dims, begins_segment_);
    }
  }

  void add_end(const ChunkView& chunk) {
    const auto* end = sound<format::RecordingEnd>(chunk);
    if (!end) return;
    ends_.ended = true;
    ends_.end_ns = std::max(ends_.end_ns, end->end_ns());
    const std::string_view reason = end->reason() ? end->reason()->string_view() : std::string_view();
    if (reason.starts_with(format::kCutShort)) ends_.cut_short = reason.substr(sizeof(format::kCutShort) - 1);
  }

  const std::string& name_;
  RecordingVisitor& visitor_;
  uint64_t damaged_at_ = UINT64_MAX, damaged_chunks_ = 0;
  RecordingEnds& ends_;
  std::vector<Waiting> waiting_;
  uint32_t flush_ = 0;
  uint64_t last_ = 0, before_last_ = 0;  // orders that the last flush and the one before it are complete up to
  uint64_t told_ = 0;
  bool wanted_ = true, begins_segment_ = false;
};

}  // namespace

RecordingFile::RecordingFile(const std::string& path)
    : RecordingFile(open_file(path, ".recording"), path.substr(path.rfind('/') + 1)) {}

RecordingFile::RecordingFile(std::unique_ptr<ByteSource> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)) {
  check_file_header(*source_, name_, kFileKind);
}

RecordingEnds RecordingFile::replay(RecordingVisitor& visitor) const {
  RecordingEnds ends;
  Teller teller(name_, visitor, ends);
  std::vector<std::string> problems = walk_chunks(*source_, name_, kFileKind, [&](const ChunkView& chunk) {
    teller.take(chunk);
    return chunk.type != format::kRecordingEnd;
  });
  teller.finish();
  // A file without an end is that of a program that runs or was killed: no damage.
  if (!ends.ended && problems.size() == 1 && problems.front().find("is cut off") != std::string::npos) {
    problems.clear();
  }
  ends.problems.insert(ends.problems.begin(), problems.begin(), problems.end());
  if (ends.damaged != 0) {
    ends.problems.push_back("left out of " + name_ + ": " + with_commas(ends.damaged) +
                            " parts of events that cannot be read, in " + ends.damaged_chunks + ".");
  }
  return ends;
}

bool is_recording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[sizeof format::kRecordingMagic] = {};
  return file.read(magic, sizeof magic) && std::memcmp(magic, format::kRecordingMagic, sizeof magic) == 0;
}

}  // namespace tensorscope::analyzer
