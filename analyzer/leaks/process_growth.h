// SPDX-License-Identifier: Apache-2.0
// What the memory of a process consists of beside tensors, and by how much each part grew from dump to dump. Parts that
// not every dump knows are left out.
//
// Not thread-safe.
#pragma once

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
  bool heap_known = false, python_known = false, mappings_known = false;
  int64_t outside() const { return resident - tensors - profiler - objects; }
};
// Bytes of malloc's that torch's CPU allocator got.
int64_t heap_of_torch(const Dump& dump);
ProcessMemory process_memory(const View& view);

struct ProcessGrowth {
  bool told = false;                  // something grew by so much that a person wants to know
  std::vector<Fact> parts;            // resident memory first, then the largest growth first; of one dump the largest
  std::optional<FactKind> grew_most;  // a part other than resident memory
};
// `views`: in order of time, of one run. Of one dump it says the parts alone.
ProcessGrowth process_growth(const std::vector<View>& views);

}  // namespace tensorscope::analyzer
