// SPDX-License-Identifier: Apache-2.0
// What the process's memory is, beside its totals: Python's own heap, and mappings by name. And the process groups that
// it is in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorscope::analyzer {

struct Mapping {
  std::string name;  // "": of anonymous memory, or of what has no row of its own
  uint8_t kind = 0;  // format::MappingKind
  uint32_t count = 0;
  uint64_t resident = 0, private_bytes = 0, anonymous = 0;  // bytes; anonymous <= resident
  bool is_file = false;
  // Of a file: pages as they are in it, and those that were written to.
  uint64_t of_file() const { return is_file ? resident - anonymous : 0; }
  uint64_t copied() const { return is_file ? anonymous : 0; }
};

struct SharedHolder {
  uint32_t pid = 0;  // 0: no process that was looked at
  std::string name;  // of the process; of no process: of the largest file
  uint64_t files = 0;
  uint64_t bytes = 0, deleted = 0;  // deleted <= bytes: in files that were removed
};

struct ProcessParts {
  bool present = false;
  uint64_t python_arenas = 0, python_in_use = 0;  // bytes of small objects; 0: not known
  std::string python_detail, mappings_detail;     // why not known
  std::vector<Mapping> mappings;                  // the largest first; their sum is all; empty: not known
  uint64_t shared_total = 0, shared_left = 0;     // bytes of /dev/shm; 0: not known
  std::vector<SharedHolder> shared_holders;       // this process first, then the largest; empty: nobody, or not known
  std::string shared_detail;                      // why not known, or not all
};

// Of torch.distributed.
struct ProcessGroup {
  std::string name, mesh_dimension;  // mesh_dimension: "" where no DeviceMesh with names made it
  std::vector<int32_t> ranks;        // by position in the group
};

}  // namespace tensorscope::analyzer
