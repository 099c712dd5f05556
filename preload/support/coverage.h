// SPDX-License-Identifier: Apache-2.0
// What this process's profiler sees, what it does not, and why: one record for every class of events, kept from the
// start-up self-check on and written into each dump. A room that meets an error switches its own subject off here
// instead of failing the program.
//
// Context: any, signal handlers excepted. Lock-free; texts are string literals or live in the arena for ever.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tensorscope {

enum class Subject : uint8_t {
  tensors,         // TensorImpl construction and destruction
  cpu_memory,      // alloc_cpu, free_cpu
  mapped_memory,   // memory-mapped and shared storages, by the profiler report
  cuda_memory,     // caching allocator's reports
  cuda_runtime,    // allocation calls of the CUDA runtime
  device_memory,   // what the driver and torch's allocator say of a device, asked at each dump
  metadata,        // shapes, dtypes, storages: the C shim
  autograd,        // nodes and backward attribution
  autograd_graph,  // edges and saved tensors, read at dump time
  driver_memory,   // all that the driver gives out, by CUPTI, where asked for
  launches,        // kernels and copies, by CUPTI, where asked for
  native_stacks,
  python_stacks,
  source_lines,    // text of the lines of Python frames, read at each dump
  module_paths,    // which nn.Module a frame belongs to, named in phase 2
  module_outputs,  // what modules' calls returned, where asked for
  signal_trigger,
  exit_trigger,
  out_of_memory,  // out-of-memory errors, recorded where they happen
  fork,
  low_memory,   // limits of memory that are watched
  descriptors,  // the collector's files are in a table of its own
  find_nan,     // values of every operation, where asked for
  count_,
};

enum class Seen : uint8_t { yes = 0, partly = 1, no = 2, not_applicable = 3 };  // = format::Seen

struct CoverageEntry {
  std::atomic<Seen> seen{Seen::not_applicable};
  std::atomic<const char*> detail{nullptr};
  std::atomic<uint64_t> missed{0};
};

// The record of one subject. Never null.
CoverageEntry& coverage(Subject subject);

// The subject as a person reads it: "tensors", "CPU memory", ...
const char* subject_name(Subject subject);

// A change is in the log.
void set_coverage(Subject subject, Seen seen, const char* detail);
[[gnu::noinline]] void count_missed(Subject subject, uint64_t events = 1);

}  // namespace tensorscope
