// SPDX-License-Identifier: Apache-2.0
// What changed between two or more dumps: the totals, the tensors that came and went, and every group's growth.
//
// Dumps of one run (equal run_id) are compared tensor by tensor through their serials, and memory through the serials
// of allocations (through address and size where there is none) and the tensors in it. Dumps of different runs have no
// serials in common: their tensors are compared as counts by (stack, shape, dtype). Groups are compared by their keys
// in both cases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/grouping.h"

namespace tensorscope::analyzer {

struct Amount {
  uint64_t tensors = 0;
  uint64_t bytes = 0;
};

// last - first = fresh - gone + grown - shrunk + joined - left, in tensors (of which grown and shrunk are neither) and
// in bytes. Between runs there is only fresh and gone.
struct Movement {
  Amount fresh;   // in the later dump only
  Amount gone;    // in the earlier one only
  Amount grown;   // the same tensors in more memory; bytes: by how much
  Amount shrunk;  // in less
  Amount joined;  // alive in both, but only in the later one do the filters choose them
  Amount left;    // only in the earlier one
  Amount moved;   // the same tensors in as much memory elsewhere: .data, set_, share_memory_. Changes no sum
};

// One tensor that is not what it was.
struct TensorChange {
  enum class Kind : uint8_t { fresh, gone, grown, shrunk, joined, left, moved, graded } kind = Kind::fresh;
  uint32_t before = kNone, after = kNone;  // index into the tensors of the first and the last dump
  int64_t bytes = 0;                       // of memory; of tensors that share memory the oldest has them
};

struct Change {
  std::string label;
  std::vector<uint64_t> bytes, tensors;  // one a dump
  uint32_t dump = 0;                     // of the dumps that have the group, the last one that does
  Group group;                           // as of that dump
  bool steady = false;                   // three or more dumps, and it grew in every interval (below)

  int64_t byte_growth() const { return int64_t(bytes.back() - bytes.front()); }
  int64_t tensor_growth() const { return int64_t(tensors.back() - tensors.front()); }
};

struct Difference {
  bool same_run = false;
  std::vector<uint64_t> bytes, tensors;      // totals of the selection, one a dump
  Movement movement;                         // first to last
  std::vector<TensorChange> tensor_changes;  // first to last, within one run; by kind, the most bytes first
  std::vector<Change> changes;               // that differ anywhere; steady first, then by growth, largest first
};

bool same_run(const Dump& a, const Dump& b);

// `views`: two or more, in order of time. A group is steady when its bytes grow evenly (memory/growing_values.h).
Difference difference(const std::vector<View>& views, GroupBy by);

}  // namespace tensorscope::analyzer
