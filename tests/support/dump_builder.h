// SPDX-License-Identifier: Apache-2.0
// Builds synthetic dump files for tests: rows are given as simple structs, ids come back, and bytes() frames everything
// as the preload would. Where a test wants a broken file, it takes chunks(), changes a payload and calls frame().
//
//   DumpBuilder builder;
//   uint32_t site = builder.site(builder.native({0x401000}), builder.python({{"train.py", "main", 3}}));
//   TensorSpec tensor;
//   tensor.sizes = {64, 64};
//   tensor.storage_base = 0x1000;
//   tensor.site = site;
//   builder.tensor(tensor);
//   builder.write(path);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump_generated.h"

namespace tensorscope::testing {

inline constexpr uint32_t kEverythingKnown = uint32_t(format::TensorKnown::ANY);

struct PythonFrameSpec {
  std::string file, function;
  int32_t line = 0;
  bool entry = false;
  uint64_t module_object = 0;
  int32_t first_line = 1;
};

struct TensorSpec {
  uint64_t serial = 0;   // 0: the next free one
  uint64_t address = 0;  // 0: made up from the serial
  uint64_t created_ns = 0;
  uint64_t storage_base = 0, storage_nbytes = 0;  // nbytes 0 with a base: numel * itemsize
  int64_t storage_offset = 0;
  std::vector<int64_t> sizes, strides;  // no strides: contiguous
  uint64_t grad = 0, grad_fn = 0;
  uint32_t output = 0;  // of grad_fn
  uint32_t known = kEverythingKnown, flags = uint32_t(format::TensorFlag::leaf);
  uint32_t site = 0, thread = 0;
  std::string class_name = "N3c1010TensorImplE", grad_fn_name, note;  // names mangled, as in a dump
  uint16_t itemsize = 4;
  int8_t device_type = 0, device_index = -1, dtype = 6, layout = 0;
};

struct AllocationSpec {
  uint64_t serial = 0;  // 0: the next free one
  uint64_t pointer = 0, nbytes = 0, created_ns = 0, node = 0;
  uint32_t site = 0, thread = 0;
  format::AllocationKind kind = format::AllocationKind::heap;
  bool inherited = false;
  int8_t device_type = 0, device_index = -1;
};

struct SharedObjectSpec {
  std::string path;
  uint64_t load_bias = 0, begin = 0, end = 0;
  std::vector<uint8_t> build_id;
};

struct SavedSpec {
  uint64_t tensor = 0;  // serial
  uint16_t ordinal = 0;
  int16_t element = -1;
  format::SlotState state = format::SlotState::held;
  bool output = false;
};

struct GraphNodeSpec {
  std::string class_name;  // mangled
  uint64_t address = 0;    // 0: made up from its number
  uint64_t serial = 0, object = 0, sequence = 0;
  uint8_t flags = 0;
  std::vector<format::GraphEdge> edges{};
  std::vector<SavedSpec> saved{};
};

// One way to an object on a reference's chain that has several.
struct OtherWaySpec {
  std::string text, scope = "train.py";
  format::ReferenceRoot root = format::ReferenceRoot::global;
};

struct ReferenceSpec {
  uint64_t tensor = 0;  // serial
  std::string text, scope{}, holder{};
  format::ReferenceRoot root = format::ReferenceRoot::global;
  format::ReferenceRole role = format::ReferenceRole::plain;
  uint16_t steps = 0;
  uint32_t node = UINT32_MAX;
  format::ReferenceWithin within = format::ReferenceWithin::nothing;
  uint64_t thread = 0;  // of the running call whose variable it is
  std::string thread_name{};
  uint32_t depth = 0;      // 0: no call is written
  uint64_t begins_at = 0;  // id() of the object that the text begins at; 0: none
  std::string shared{};    // the text of an object on the chain that others lead to as well; "": there is none
  std::vector<OtherWaySpec> others{};
};

struct TensorObjectSpec {
  uint64_t tensor = 0;  // serial
  std::string type_name = "Tensor";
  uint32_t references = 0;
  format::WrapperState state = format::WrapperState::referenced;
  bool optimized = false, trained = false;
};

// Of plain Python objects, by what goes away with it.
struct ContainerSpec {
  std::string text, scope = "train.py", type_name = "list", entry_type{}, cpp_type{};
  uint64_t bytes = 0, entries = 0, cpp_objects = 0;
  format::ReferenceRoot root = format::ReferenceRoot::global;
};

struct FailureSpec {
  format::FailureKind kind = format::FailureKind::device;
  format::MemoryLimit limit = format::MemoryLimit::device;
  int8_t device_type = 1, device_index = 0;
  uint64_t requested = 0, allocator_allocated = 0, allocator_reserved = 0, limit_bytes = 0, left_bytes = 0;
  std::string error = "c10::OutOfMemoryError";
  uint32_t site = 0, thread = 0;
  uint64_t node = 0, failed_ns = 0, failures = 1, without_dump = 0;
};

struct SegmentSpec {
  uint64_t address = 0, size = 0;
  std::vector<format::SegmentBlock> blocks{};
  uint64_t stream = 0, pool = 0, pool_user = 0;
  uint8_t flags = 0;
  // UINT64_MAX, UINT32_MAX: as the blocks have it.
  uint64_t allocated = UINT64_MAX, active = UINT64_MAX, requested = UINT64_MAX;
  uint32_t block_count = UINT32_MAX;
};

struct DeviceMemorySpec {
  int8_t device_type = 1, device_index = 0;
  std::string name = "Double", backend = "native", settings{}, driver_detail{}, segments_detail{};
  uint64_t driver_total = 0, driver_free = 0, own_bytes = 0;
  std::vector<format::DeviceProcess> processes{};
  std::vector<SegmentSpec> segments{};
  format::SegmentSource segments_from = format::SegmentSource::snapshot;
  uint64_t looked_ns = 0;
};

struct RuntimeBlockSpec {
  uint64_t serial = 0;  // 0: the next free one
  uint64_t pointer = 0, nbytes = 0, created_ns = 0;
  uint32_t site = 0, thread = 0;
  format::RuntimeKind kind = format::RuntimeKind::device;
  bool by_torch = false;
  int8_t device_type = 1, device_index = 0;
};

struct SourceFileSpec {
  std::string path;
  std::vector<std::pair<uint32_t, std::string>> lines{};
  format::SourceState state = format::SourceState::read;
  uint64_t size = 0, hash = 0;
};

struct ProcessGroupSpec {
  std::string name, mesh_dimension;
  std::vector<int32_t> ranks;
};

struct Chunk {
  uint32_t type;
  std::string payload;
};

class DumpBuilder {
 public:
  DumpBuilder();

  // Set directly what a test cares about; the rest has quiet defaults.
  format::Trigger trigger = format::Trigger::signal;
  std::string program = "train", trigger_detail = "SIGUSR1", run_id = "run-1", torch_version = "2.13.0",
              python_version = "3.11.7", working_directory = "/home/user", executable = "/usr/bin/python3",
              host = "node7";
  std::vector<std::string> command_line = {"python", "train.py"};
  std::vector<std::pair<std::string, std::string>> options;
  uint32_t pid = 4242, parent_pid = 4241, forked_from = 0, dump_number = 1;
  int32_t rank = -1, local_rank = -1, world_size = -1;
  int64_t step = -1;
  std::string job, asked_by_run;
  uint32_t asked_by_dump = 0;
  // The steps' chunk is there where a source is named.
  format::StepSource step_source = format::StepSource::none;
  uint64_t steps_every = 1;
  std::vector<uint64_t> step_ends;
  // The chunks about the time before are there where there are points, or bytes at a peak.
  std::vector<format::HistoryPoint> history_points;
  std::vector<format::HistoryLevel> history_levels;  // of each point one of each device
  std::vector<format::HistoryDevice> history_devices = {{0, -1}};
  uint32_t history_every = 1;
  uint64_t peak_ns = 0, peak_step = 0, peak_bytes = 0;
  std::vector<format::PeakSite> peak_sites;
  std::vector<format::PeakGone> peak_gone;
  std::vector<format::PeakDevice> peak_devices;
  uint32_t peak_other_sites = 0;
  uint64_t peak_other_bytes = 0, peak_other_allocations = 0;
  std::vector<ProcessGroupSpec> process_groups;  // the chunk is there where there are any
  uint64_t start_ns = 1'000'000'000, dump_ns = 61'000'000'000;
  uint64_t attached_ns = 0;
  uint64_t ns_each_serial = 0;  // when what has no time of its own was created; 0: it has none
  uint64_t start_unix_ns = 1'790'000'000'000'000'000, fork_serial = 0;
  uint64_t resident_bytes = 500 << 20, resident_peak_bytes = 600 << 20;
  uint64_t tensors_total = 0;  // 0: as many as are live
  uint64_t heap_in_use = 0, heap_free = 0, profiler_bytes = 0;
  uint64_t anonymous_bytes = 0, file_bytes = 0, shared_bytes = 0;  // of resident_bytes; 0: not known
  uint64_t children_resident_bytes = 0, children_private_bytes = 0;
  uint64_t cgroup_current = 0, cgroup_limit = 0, machine_total = 0, machine_available = 0;
  uint32_t children = 0;
  bool children_known = true;
  bool names_complete = true;
  // The graph's and the references' chunks are there once something was added to them, or where these say so.
  bool has_graph = false, graph_complete = true, has_references = false, references_complete = true;
  // Of containers' rows: whether the dump says anything of them, and whether all are there.
  bool has_containers = false, containers_complete = true;
  std::vector<std::string> profilers;  // that are on: names of variables
  // The source lines' chunk is there once a file was added, or where this says so.
  bool has_sources = false, sources_complete = true;
  std::string sources_detail;
  uint64_t newest_source_unix_ns = 0;
  format::NamesLimit names_stopped_by = format::NamesLimit::none;  // the references are not complete then
  uint64_t names_time_limit_ms = 5000, names_memory_limit = uint64_t{4} << 30;
  size_t rows_per_chunk = size_t{1} << 16;

  uint32_t string(std::string_view text);
  uint32_t shared_object(const SharedObjectSpec& object);
  uint32_t thread(uint32_t tid, std::string_view name, bool alive = true);                   // index 0 is the sentinel
  uint32_t native(const std::vector<uint64_t>& outermost_first, uint32_t below = 0);         // returns the leaf
  uint32_t python(const std::vector<PythonFrameSpec>& outermost_first, uint32_t below = 0);  // returns the leaf
  uint32_t site(uint32_t native_leaf, uint32_t python_leaf);
  uint64_t tensor(const TensorSpec& tensor);              // returns the serial
  uint64_t allocation(const AllocationSpec& allocation);  // returns the serial; counts for its site and device
  void freed(uint32_t site, uint64_t nbytes);             // counts an allocation of the site that is not alive any more
  uint64_t node(uint64_t address, std::string_view class_name, uint32_t site, uint64_t serial = 0);
  void device_total(const format::DeviceTotal& total);  // replaces the one that was counted from the allocations
  void coverage(std::string_view subject, format::Seen seen, std::string_view detail, uint64_t missed = 0);
  void module_name(uint64_t object, std::string_view path, std::string_view class_name);
  uint32_t graph_node(const GraphNodeSpec& node);  // returns its number
  uint64_t graph_address(uint32_t node) const { return graph_[node].address; }
  void edge(uint32_t from, uint32_t to, uint32_t input = 0) { graph_[from].edges.emplace_back(to, input); }
  void saved(uint32_t node, const SavedSpec& slot) { graph_[node].saved.push_back(slot); }
  void slot_name(std::string_view class_name, uint16_t ordinal, std::string_view name);
  void reference(const ReferenceSpec& reference);
  void tensor_object(const TensorObjectSpec& object);
  void container(const ContainerSpec& container) { containers_.push_back(container); }
  void node_reference(uint32_t node, std::string_view text, std::string_view scope,
                      format::ReferenceRoot root = format::ReferenceRoot::global);
  void forget_graph() { graph_.clear(); }
  // Of the references, and of the objects that they are of, only these were found.
  void found_only(const std::function<bool(const ReferenceSpec&)>& found);
  void failure(const FailureSpec& failure) { failure_ = {failure}; }
  void device_memory(const DeviceMemorySpec& memory) { device_memory_.push_back(memory); }
  uint64_t runtime_block(const RuntimeBlockSpec& block);  // returns the serial
  void source_file(const SourceFileSpec& file) { sources_.push_back(file); }
  format::Site& site_counters(uint32_t site) { return sites_[site]; }
  uint64_t next_serial() { return ++serial_; }

  std::vector<Chunk> chunks() const;  // without the end chunk
  std::string bytes() const { return frame(chunks()); }
  void write(const std::string& path) const;

  // A file of these chunks: header, checksums, padding and, where asked for, the end chunk.
  static std::string frame(const std::vector<Chunk>& chunks, bool end = true);
  static std::string file_header(uint32_t major, uint32_t minor);

 private:
  uint64_t take_serial(uint64_t wanted);
  uint64_t created(uint64_t serial, uint64_t given) const;
  void graph_chunks(std::vector<Chunk>& out) const;
  Chunk reference_chunk() const;
  void memory_chunks(std::vector<Chunk>& out) const;
  Chunk source_chunk() const;

  uint64_t serial_ = 0;
  std::vector<std::string> strings_;
  std::map<std::string, uint32_t, std::less<>> string_ids_;
  std::vector<SharedObjectSpec> shared_objects_;
  std::vector<format::Thread> threads_;
  std::vector<format::Code> codes_;
  std::map<std::pair<std::string, std::string>, uint32_t> code_ids_;
  std::vector<format::NativeFrame> native_;
  std::vector<format::PythonFrame> python_;
  std::vector<format::Site> sites_;
  std::vector<TensorSpec> tensors_;  // serial, address, strides and storage_nbytes filled in
  std::vector<format::Allocation> allocations_;
  std::vector<format::Node> nodes_;
  std::map<std::pair<int8_t, int8_t>, format::DeviceTotal> devices_, set_devices_;
  struct CoverageRow {
    std::string subject, detail;
    format::Seen seen;
    uint64_t missed;
  };
  std::vector<CoverageRow> coverage_;
  struct NamedModule {
    uint64_t object;
    std::string path, class_name;
  };
  std::vector<NamedModule> module_names_;
  std::vector<GraphNodeSpec> graph_;
  std::vector<ReferenceSpec> references_;
  std::vector<TensorObjectSpec> objects_;
  struct SlotRow {
    std::string class_name, name;
    uint16_t ordinal;
  };
  std::vector<SlotRow> slots_;
  struct NodeReferenceRow {
    uint32_t node;
    std::string text, scope;
    format::ReferenceRoot root;
  };
  std::vector<NodeReferenceRow> node_references_;
  std::vector<ContainerSpec> containers_;
  std::vector<FailureSpec> failure_;  // one or none
  std::vector<DeviceMemorySpec> device_memory_;
  std::vector<format::RuntimeBlock> runtime_blocks_;
  std::vector<SourceFileSpec> sources_;
};

}  // namespace tensorscope::testing
