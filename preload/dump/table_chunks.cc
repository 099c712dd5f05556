// SPDX-License-Identifier: Apache-2.0
#include "dump/table_chunks.h"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "dump/chunk.h"
#include "stacks/native/native_stack.h"
#include "stacks/python/python_stack.h"

namespace tensorscope::dump {

namespace {

// Which frames of one trie are written, and under which id: parents keep smaller ids than their children.
class FrameSelection {
 public:
  // `leaf(i)` is the stack of site i; frames of `count` are kept whole up to `most`.
  template <typename Leaf, typename Parent>
  FrameSelection(size_t count, size_t most, const live::SnapshotView& view, Leaf leaf, Parent parent)
      : count_(count), whole_(count <= most) {
    if (whole_) return;
    ids_.assign(count, 0);
    ids_[0] = 1;
    for (const live::SiteCounters& site : view.sites) {
      if (alive(site) && leaf(site) < count) ids_[leaf(site)] = 1;
    }
    for (const live::RuntimeEntry& block : view.runtime_blocks) {
      const live::SiteCounters& site = view.sites[block.site];
      if (leaf(site) < count) ids_[leaf(site)] = 1;
    }
    for (size_t i = count - 1; i > 0; --i) {
      if (ids_[i] != 0) ids_[parent(StackId(i))] = 1;
    }
    StackId next = 0;
    for (StackId& id : ids_) id = id != 0 ? next++ : kDropped;
  }

  static bool alive(const live::SiteCounters& site) {
    return site.tensors_live != 0 || site.allocations_live != 0 || site.bytes_kept != 0;
  }
  bool kept(StackId id) const { return whole_ || ids_[id] != kDropped; }
  StackId new_id(StackId id) const { return id >= count_ ? 0 : whole_ ? id : ids_[id] == kDropped ? 0 : ids_[id]; }
  size_t count() const { return count_; }

 private:
  static constexpr StackId kDropped = UINT32_MAX;
  size_t count_;
  bool whole_;
  std::vector<StackId> ids_;
};

// Rows in chunks of at most kTableRows, each told the id of its first row.
template <typename Row, typename Create>
bool append_rows(uint32_t type, const std::vector<Row>& rows, uint32_t first, Create create, ChunkSink& file) {
  Chunk chunk(type, rows.size() * sizeof(Row) + 256);
  auto values = chunk.builder().CreateVectorOfStructs(rows);
  return chunk.append_to(file, create(chunk.builder(), first, values));
}

template <typename Row, typename Create>
class RowStream {
 public:
  RowStream(uint32_t type, Create create, ChunkSink& file) : type_(type), create_(create), file_(file) {}
  template <typename... Fields>
  void add(Fields... fields) {
    rows_.emplace_back(fields...);
    if (rows_.size() == kTableRows) flush();
  }
  // At least one chunk is written, an empty one for an empty table.
  bool finish() {
    if (!rows_.empty() || first_ == 0) flush();
    return ok_;
  }

 private:
  void flush() {
    ok_ = ok_ && append_rows(type_, rows_, first_, create_, file_);
    first_ += uint32_t(rows_.size());
    rows_.clear();
  }
  uint32_t type_;
  Create create_;
  ChunkSink& file_;
  std::vector<Row> rows_;
  uint32_t first_ = 0;
  bool ok_ = true;
};

}  // namespace

bool write_allocations(const live::SnapshotView& view, ChunkSink& file) {
  auto create = [](flatbuffers::FlatBufferBuilder& builder, uint32_t, auto values) {
    return format::CreateAllocationRows(builder, values);
  };
  RowStream<format::Allocation, decltype(create)> stream(format::kAllocations, create, file);
  for (const live::AllocationEntry& a : view.allocations) {
    stream.add(a.serial, reinterpret_cast<uint64_t>(a.pointer), a.nbytes, a.created_ns, a.node, a.site,
               uint32_t(a.thread), format::AllocationKind(a.kind), uint8_t(a.serial <= view.fork_serial), a.device.type,
               a.device.index);
  }
  return stream.finish();
}

bool write_stacks(const live::SnapshotView& view, ChunkSink& file, size_t most_frames) {
  // Frames may be added while this runs; every site of the copy refers to frames that were there before it.
  const FrameSelection native(
      stacks::native_frame_count(), most_frames, view, [](const live::SiteCounters& s) { return s.native; },
      [](StackId id) { return stacks::native_frame(id).parent; });
  const FrameSelection python(
      stacks::python_frame_count(), most_frames, view, [](const live::SiteCounters& s) { return s.python; },
      [](StackId id) { return stacks::python_frame(id).parent; });

  auto create_sites = [](flatbuffers::FlatBufferBuilder& b, uint32_t first, auto v) {
    return format::CreateSites(b, first, v);
  };
  RowStream<format::Site, decltype(create_sites)> sites(format::kSites, create_sites, file);
  for (const live::SiteCounters& s : view.sites) {
    sites.add(s.tensors_live, s.tensors_total, s.allocations_live, s.allocations_total, s.bytes_live, s.bytes_total,
              s.bytes_peak, native.new_id(s.native), python.new_id(s.python));
  }
  if (!sites.finish()) return false;

  auto create_native = [](flatbuffers::FlatBufferBuilder& b, uint32_t first, auto v) {
    return format::CreateNativeFrames(b, first, v);
  };
  RowStream<format::NativeFrame, decltype(create_native)> native_rows(format::kNativeFrames, create_native, file);
  for (StackId id = 0; id < native.count(); ++id) {
    if (!native.kept(id)) continue;
    const stacks::NativeFrame frame = stacks::native_frame(id);
    native_rows.add(frame.address, native.new_id(frame.parent));
  }
  if (!native_rows.finish()) return false;

  auto create_python = [](flatbuffers::FlatBufferBuilder& b, uint32_t first, auto v) {
    return format::CreatePythonFrames(b, first, v);
  };
  RowStream<format::PythonFrame, decltype(create_python)> python_rows(format::kPythonFrames, create_python, file);
  for (StackId id = 0; id < python.count(); ++id) {
    if (!python.kept(id)) continue;
    const stacks::PythonFrame frame = stacks::python_frame(id);
    python_rows.add(frame.module_object, python.new_id(frame.parent), frame.code, frame.line, uint8_t(frame.entry));
  }
  return python_rows.finish();
}

bool write_codes(StringTable& strings, ChunkSink& file) {
  std::vector<format::Code> rows;
  const size_t count = stacks::python_code_count();
  for (uint32_t i = 0; i < count; ++i) {
    const stacks::PythonCode code = stacks::python_code(i);
    rows.emplace_back(strings.intern(code.file != nullptr ? code.file : ""),
                      strings.intern(code.name != nullptr ? code.name : ""), code.first_line);
  }
  Chunk chunk(format::kCodes);
  return chunk.append_to(file, format::CreateCodes(chunk.builder(), chunk.builder().CreateVectorOfStructs(rows)));
}

bool write_threads(const live::SnapshotView& view, StringTable& strings, ChunkSink& file) {
  std::vector<format::Thread> rows;
  for (const live::ThreadEntry& thread : view.threads) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%u", thread.tid);
    const bool alive = thread.tid != 0 && access(path, F_OK) == 0;
    const std::string_view name(thread.name, strnlen(thread.name, sizeof(thread.name)));
    rows.emplace_back(thread.tid, strings.intern(name), uint8_t(alive));
  }
  Chunk chunk(format::kThreads);
  return chunk.append_to(file, format::CreateThreads(chunk.builder(), chunk.builder().CreateVectorOfStructs(rows)));
}

bool write_shared_objects(const torch::SharedObjectMap& objects, ChunkSink& file) {
  Chunk chunk(format::kSharedObjects);
  std::vector<flatbuffers::Offset<format::SharedObject>> rows;
  for (const torch::MappedObject& m : objects.objects()) {
    auto path = chunk.string(m.path);
    auto build_id = chunk.builder().CreateVector(m.build_id);
    rows.push_back(format::CreateSharedObject(chunk.builder(), path, m.load_bias, m.begin, m.end, build_id));
  }
  return chunk.append_to(file, format::CreateSharedObjectsDirect(chunk.builder(), &rows));
}

bool write_strings(const StringTable& strings, ChunkSink& file) {
  Chunk chunk(format::kStrings, size_t{64} << 10);
  std::vector<flatbuffers::Offset<flatbuffers::String>> values;
  for (const std::string& value : strings.values()) values.push_back(chunk.string(value));
  return chunk.append_to(file, format::CreateStringsDirect(chunk.builder(), &values));
}

}  // namespace tensorscope::dump
