// SPDX-License-Identifier: Apache-2.0
// What a dump may take, and which of its parts are written: known before it begins, from the sizes of the tables and
// from what is left under the nearest limit. In a control group no allocation ever fails; one too many is the end of
// the program.
//
// The rows come first, without which there is no dump; then what gives tensors names in the right order, the autograd
// graph, and what only the short report needs. Python's objects have a limit of their own (python/memory_for_names.h),
// a share of what is left by then.
//
// Context: collector. Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/system_limits.h"

namespace tensorscope::collector {

// What may be taken under the nearest limit.
struct MemoryRoom {
  SystemLimit limit = SystemLimit::none;  // none: no limit is known
  uint64_t left = UINT64_MAX;             // under it
  uint64_t for_rows = UINT64_MAX;         // of that, without which there is no dump
  uint64_t usable = UINT64_MAX;           // of that, by all of a dump

  // Of what many processes share, others take their part meanwhile, and too much is the program's end; under the
  // process's own limits the program's next request would fail. So a quarter is left alone, an eighth by the rows.
  static MemoryRoom of(const SystemMemory& memory);
  static MemoryRoom now();
  // Little enough that even pages of the dump's own file should not wait in memory to be written.
  bool is_tight() const { return usable < kAmple; }
  bool has(uint64_t bytes) const { return bytes <= usable; }

 private:
  static constexpr uint64_t kAmple = uint64_t{256} << 20;
};

// "in the control group", "on the machine", "of the address space (RLIMIT_AS)", "of RLIMIT_DATA".
const char* place_of(SystemLimit limit);

struct DumpSize {
  uint64_t copy = 0;  // of the tables
  size_t tensors = 0, allocations = 0, nodes = 0;
  bool names = false;           // of tensors are wanted
  bool report = false;          // the short one is wanted
  bool file_in_memory = false;  // what is written stays in memory: the folder is a tmpfs
};

struct DumpPlan {
  uint64_t rows_need = 0;  // the rows alone
  bool rows = false;       // false: no dump
  bool sizes = false;      // of storages: the largest tensors get names first
  bool graph = false;
  size_t facts = 0;  // of so many tensors, the largest, for the short report
};

DumpPlan plan_dump(const DumpSize& size, const MemoryRoom& room);
// By the walk through the autograd graph.
uint64_t graph_needs(size_t nodes, size_t tensors);

// Which parts a dump is without, for its coverage and for the line about it. No malloc.
class LeftOut {
 public:
  void add(const char* part, const MemoryRoom& room);
  // "without the autograd graph and names: 12.0 MiB was left in the control group"; "": nothing is left out.
  const char* text() const { return text_; }

 private:
  char text_[256] = "";
  size_t length_ = 0;  // of the parts
};

// How many tensors, the largest, the short report can look at with so much memory, beside the facts that were kept; 0:
// too few to be worth it.
size_t most_in_report(uint64_t bytes, size_t tensors, size_t allocations);
// By a look at Python's objects that finds anything at all.
inline constexpr uint64_t kMinForNames = uint64_t{1} << 20;

}  // namespace tensorscope::collector
