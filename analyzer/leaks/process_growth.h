// SPDX-License-Identifier: Apache-2.0
// What the memory of a process consists of beside tensors, and by how much each part grew from dump to dump. Parts that
// not every dump knows are left out. What tensors borrow from arrays in malloc's memory is in both of these parts.
//
// Only what was asked for can leak. Resident memory also grows where pages of older memory are touched for the first
// time, or pages of files; and malloc keeps what it was given back.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "leaks/finding.h"
#include "memory/grouping.h"

namespace tensorscope::analyzer {

// Bytes of one dump; what is not known is 0.
struct ProcessMemory {
  int64_t resident = 0;
  int64_t tensors = 0;  // in CPU memory: live allocations, and what tensors borrow
  int64_t heap = 0;     // allocated by malloc, and that torch's allocator did not get
  int64_t kept = 0;     // by malloc for later
  int64_t profiler = 0;
  int64_t python = 0, python_kept = 0;  // of Python's arenas: in small objects, and free for such
  int64_t copied = 0;                   // pages of private mappings of files that were written to
  int64_t objects = 0;                  // of tensors and graph nodes, an estimate
  int64_t shared = 0;                   // pages of shared memory in no tensor
  int64_t anonymous = 0;                // all private pages of no file
  int64_t shared_tensors = 0;           // of `tensors`: in no anonymous memory
  int64_t borrowed = 0;                 // of `tensors`: not allocated by torch, as arrays of numpy, which are in `heap`
  bool heap_known = false, python_known = false, mappings_known = false, anonymous_known = false;

  // Private pages that none of the others asked for; less than 0: so much was asked for and is not touched yet, or is
  // swapped out. 0 where the parts are not known.
  int64_t rest() const;
  int64_t other_private() const { return std::max<int64_t>(0, rest()); }
  int64_t untouched() const { return std::max<int64_t>(0, -rest()); }
  // Asked for, and in no tensor: malloc's blocks, small objects of Python, shared memory, other private memory.
  int64_t requested() const { return heap - borrowed + python + shared + other_private() - objects; }
};
// Bytes of malloc's that torch's CPU allocator got.
int64_t heap_of_torch(const Dump& dump);
ProcessMemory process_memory(const View& view);
// One a dump; a part that not every dump knows is 0 in all of them, and objects never become fewer.
std::vector<ProcessMemory> comparable_memory(const std::vector<View>& views);

struct ProcessGrowth {
  bool told = false;        // something grew by so much that a person wants to know
  bool steady = false;      // what was asked for, and is in no tensor, grew in every interval, by more than it varies
  std::vector<Fact> parts;  // resident memory first, then the largest growth first; of one dump the largest
  std::optional<FactKind> grew_most;  // a part other than resident memory
};
// `views`: in order of time, of one run. Of one dump it says the parts alone.
ProcessGrowth process_growth(const std::vector<View>& views);

}  // namespace tensorscope::analyzer
