// What the memory of a process consists of beside tensors, and by how much each part grew from dump to dump. Parts that
// not every dump knows are left out.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/findings/finding.h"
#include "model/grouping.h"

namespace tensorscope::model {

// Bytes of one dump; what is not known is 0.
struct ProcessMemory {
  int64_t resident = 0;
  int64_t tensors = 0;  // in CPU memory: live allocations, and what tensors borrow
  int64_t heap = 0;     // that malloc has handed out and torch's allocator did not get
  int64_t kept = 0;     // by malloc for later
  int64_t profiler = 0;
  int64_t objects = 0;  // of tensors and graph nodes, an estimate
  bool heap_known = false;
  int64_t outside() const { return resident - tensors - profiler - objects; }
};
ProcessMemory process_memory(const View& view);

struct ProcessGrowth {
  bool told = false;        // something grew by so much that a person wants to know
  std::vector<Fact> parts;  // resident memory first, then the largest growth first
  std::string look_at;      // one sentence about the part that grew most
};
// `views`: in order of time, of one run.
ProcessGrowth process_growth(const std::vector<View>& views);

}  // namespace tensorscope::model
