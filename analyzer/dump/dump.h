// SPDX-License-Identifier: Apache-2.0
// The model of one dump: what commands and renderers work on. Everything is resolved: strings are text, ids are indexes
// into the vectors of this struct, storages are built, stacks can be read as merged frames. Reading never trusts
// the file (reader.h); a Dump that was read is consistent: every index is in range.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dump/allocation_life.h"
#include "dump/device.h"
#include "dump/device_memory.h"
#include "dump/driver_memory.h"
#include "dump/failure.h"
#include "dump/graph.h"
#include "dump/history.h"
#include "dump/number_lists.h"
#include "dump/process_parts.h"
#include "dump/references.h"
#include "dump/shared_text.h"
#include "dump/sources.h"

namespace tensorscope::analyzer {

struct Process {
  uint32_t pid = 0, parent_pid = 0, forked_from = 0;
  std::string program, executable, working_directory, host, run_id;
  std::vector<std::string> command_line;
  uint64_t start_unix_ns = 0, start_ns = 0, dump_unix_ns = 0, dump_ns = 0;
  int trigger = 0;  // format::Trigger
  std::string trigger_detail;
  uint32_t dump_number = 0;
  int rank = -1, local_rank = -1, world_size = -1;
  std::string torch_version, python_version, tensorscope_version;
  std::vector<std::pair<std::string, std::string>> options;
  uint64_t snapshot_serial = 0, fork_serial = 0;
  uint64_t attached_ns = 0;      // when the profiler came to the running process; 0: it was there from the start
  uint32_t earlier_site = 0;     // of what was there before; valid where attached
  uint64_t earlier_tensors = 0;  // that were found then
  std::string earlier_detail;    // why some may not have been found; "" if all that Python refers to were
  bool is_earlier(uint32_t site) const { return attached_ns != 0 && site == earlier_site; }
  std::string asked_by_run;    // of the ancestor whose dump this one goes with; "": it goes with none
  uint32_t asked_by_dump = 0;  // the dump_number of that dump
  int64_t step = -1;           // of optimizers, or that the program marked; -1: not counted
  std::string job;             // the same for all ranks of a job; "" where the environment does not tell
};

struct SharedObject {
  std::string path;
  uint64_t load_bias = 0, begin = 0, end = 0;
  std::string build_id; /* hex */
};
struct Code {
  std::string file, function;
  int32_t first_line = 0;
};
struct NativeFrame {
  uint64_t address = 0;
  uint32_t parent = 0;
};
struct PythonFrame {
  uint64_t module_object = 0;
  uint32_t parent = 0, code = 0;
  int32_t line = 0;
  bool entry = false;
};

// Index 0 of `sites`, `native_frames`, `python_frames` is a sentinel: no stack.
struct Site {
  uint64_t tensors_live = 0, tensors_total = 0, allocations_live = 0, allocations_total = 0;
  uint64_t bytes_live = 0, bytes_total = 0, bytes_peak = 0;
  uint32_t native = 0, python = 0;
};

struct Thread {
  uint32_t tid = 0;
  std::string name;
  bool alive = false;
};

struct Tensor {
  uint64_t serial = 0;  // the id that users see and type
  uint64_t address = 0, created_ns = 0;
  uint32_t storage = kNone;    // index into Dump::storages
  int64_t storage_offset = 0;  // elements
  int64_t numel = 0;
  uint64_t nbytes =
      0;  // of the view: numel * itemsize (what it spans logically), 0 where not known; sparse: of its parts
  uint64_t dense_nbytes = 0;  // of a sparse tensor: numel * itemsize
  uint32_t parts = 0;         // tensors that it is made of, as far as the dump shows
  uint64_t grad = 0, grad_fn = 0;
  uint32_t output = kNone;   // which of grad_fn's outputs; kNone: not known (a dump of an older version)
  uint32_t version = kNone;  // changes in place of its memory through it or a view (Tensor._version); kNone: not known
  uint32_t known = 0, flags = 0;  // format::TensorKnown, format::TensorFlag
  uint32_t site = 0, thread = 0;
  SharedText class_name;    // demangled, "c10::TensorImpl"
  SharedText grad_fn_name;  // "AddmmBackward0"
  SharedText note;
  std::span<const int64_t> sizes, strides;  // of Dump::dims
  uint16_t itemsize = 0;
  Device device;
  int8_t dtype = -1, layout = -1;
  std::string dtype_text() const;   // "float32", "unknown"
  std::string layout_text() const;  // "strided", ...
  std::string shape_text() const;   // "[64, 1024]", "?" where not known
  bool is_view() const;
  bool knows_view() const;         // whether is_view() says something: read with the other facts of autograd
  bool knows_offset() const;       // the same of storage_offset, which is read with the strides
  bool freed_during_dump() const;  // before its fields were read
  bool knows_memory() const;       // whether it has a storage, and which: without, storage is kNone
  bool knows_size() const;         // without, nbytes is 0
  bool is_sparse() const;          // indices and values, tensors themselves (Dump::parts), instead of a storage
};

// Indices into Dump::tensors: the indices and values of a sparse tensor, what a wrapper wraps.
struct TensorPart {
  uint32_t owner = kNone, part = kNone;
};

// runtime: memory of the CUDA runtime that torch's allocator did not hand out (a pluggable allocator, a library)
enum class StorageKind : uint8_t { allocator, external, shared, pinned, unknown, runtime };
const char* text(StorageKind kind);

struct Storage {
  uint64_t id = 0;  // serial of its oldest live tensor: stable between dumps of one run as long as that one lives
  uint64_t data_ptr = 0, nbytes = 0;
  uint64_t own_nbytes = 0;  // nbytes less what an overlapping storage listed earlier already counts: sums use this
  Device device;
  StorageKind kind = StorageKind::unknown;
  uint32_t allocation = kNone;        // index into Dump::allocations that contains data_ptr
  uint32_t runtime_block = kNone;     // where there is none: index into Dump::runtime_blocks
  std::span<const uint32_t> tensors;  // indexes, by serial; of Dump::tensors_of_storages
};

struct Allocation {
  uint64_t serial = 0, pointer = 0, nbytes = 0, created_ns = 0, node = 0;
  uint32_t site = 0, thread = 0;
  uint8_t kind = 0;  // format::AllocationKind
  bool inherited = false;
  Device device;
  std::span<const uint32_t> storages{};  // indexes of the storages inside it; of Dump::storages_of_allocations
};

struct Node {
  uint64_t serial = 0, address = 0, created_ns = 0;
  std::string class_name;
  uint32_t site = 0, thread = 0;
  bool alive = false;
  uint32_t ran_site = 0;  // of the last allocation made while its backward ran; 0: none was seen
};

// Where the program's steps ended, as far as it was seen.
struct Steps {
  uint8_t source = 0;          // format::StepSource; 0: no step was seen
  uint64_t count = 0;          // that have ended
  uint64_t every = 1;          // of so many one is in `ends`
  std::vector<uint64_t> ends;  // serials, ascending
  uint64_t last_end = 0;       // serial at the end of the last step; 0: not known

  bool known() const { return !ends.empty(); }
  // Which of the known steps something with this serial was made in: 0 for the first, ends.size() for the one that
  // runs.
  size_t step_of(uint64_t serial) const;
};

struct DeviceTotal {
  Device device;
  uint64_t live_bytes = 0, peak_bytes = 0, live_count = 0, total_count = 0, total_bytes = 0;
  uint64_t allocator_allocated = 0, allocator_reserved = 0, allocator_reserved_peak = 0;
};

struct Totals {
  std::vector<DeviceTotal> devices;
  uint64_t tensors_live = 0, tensors_total = 0;
  uint64_t resident_bytes = 0, resident_peak_bytes = 0, cgroup_current = 0, cgroup_limit = 0, machine_total = 0,
           machine_available = 0;
  uint64_t profiler_bytes = 0, stopped_ns = 0, phase1_ns = 0;
  uint64_t heap_in_use = 0, heap_free = 0, children_resident_bytes = 0, children_private_bytes = 0;
  uint64_t anonymous_bytes = 0, file_bytes = 0, shared_bytes = 0;  // resident; 0: not known
  uint32_t children = 0;
  bool children_known = true;  // false: whether there are any is not known
};

struct Coverage {
  std::string subject;
  int seen = 0;
  std::string detail;
  uint64_t missed = 0;
};  // seen: format::Seen

// Rows refer to lists that lie in it: it can be moved, not copied.
struct Dump {
  Dump() = default;
  Dump(Dump&&) = default;
  Dump& operator=(Dump&&) = default;

  std::string path;
  std::vector<std::string> problems;  // one sentence each: what was wrong with the file, what is therefore missing
  bool complete = false;              // the end chunk was there and agreed

  Process process;
  std::vector<SharedObject> shared_objects;  // by begin
  std::vector<Code> codes;
  std::vector<NativeFrame> native_frames;
  std::vector<PythonFrame> python_frames;
  std::vector<Site> sites;
  std::vector<Thread> threads;
  std::vector<Tensor> tensors;             // by serial
  std::vector<TensorPart> parts;           // in the order of the dump: those of one tensor together
  std::vector<Storage> storages;           // by id
  std::vector<Allocation> allocations;     // by serial
  std::vector<Node> nodes;                 // by serial
  std::vector<std::vector<int64_t>> dims;  // of tensors: sizes and strides, as they came
  NumberLists tensors_of_storages, storages_of_allocations;
  Totals totals;
  Steps steps;
  History history;
  Peak peak;
  std::vector<Coverage> coverage;
  bool names_complete = false;
  std::string names_detail;
  struct ModuleName {
    std::string path, class_name;
  };
  std::map<uint64_t, ModuleName> module_names;  // by nn.Module object address
  Graph graph;
  References references;
  std::optional<Failure> failure;
  std::vector<DeviceMemory> device_memory;   // by device
  std::vector<RuntimeBlock> runtime_blocks;  // by serial
  DriverMemory driver_memory;
  std::vector<SiteLaunches> launches;  // by site
  bool launches_known = false;
  Sources sources;
  ProcessParts process_parts;
  std::vector<ProcessGroup> process_groups;
  bool moment = false;                // made from a recording: it has neither names nor holders of its own
  std::vector<AllocationLife> lives;  // of a moment: of each of `allocations`

  const DeviceMemory* memory_of(Device device) const;  // null: nothing is known of it
  const DeviceTotal* total_of(Device device) const;    // likewise
};

// ---- stacks as people read them ----------------------------------------------------------------------------------

struct Frame {
  enum class Language : uint8_t { python, native } language = Language::native;
  std::string function;  // Python: qualified name; native: demangled, "" where not known
  std::string file;      // "" where not known
  int line = 0;          // 0: not known
  std::string object{};  // native: file name of the shared object ("libtorch_cpu.so")
  uint64_t address = 0;  // native: return address in the target
  bool inlined = false;
  std::string module{};  // Python: the nn.Module's path, where known
};

}  // namespace tensorscope::analyzer
