// SPDX-License-Identifier: Apache-2.0
// What a look at the program's Python objects has found (python/bridge.h): names of modules, references, process
// groups, and what two allocators say of themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/references.h"

namespace tensorscope::python {

struct ModuleName {
  uint64_t object;
  std::string path;  // "model.layers.0.fc1", "train.model" ...: as the heap inspector found it
  std::string class_name;
};

struct Names {
  bool complete = false;
  const char* detail = "";  // why it is not complete; a literal
  std::vector<ModuleName> modules;
};

// Of Python's own allocator, that of objects up to 512 bytes; in bytes, 0: not known.
struct PythonHeap {
  uint64_t arenas = 0, in_use = 0;
  const char* detail = "";  // why it is not known; a literal
};

// Of torch.distributed.
struct ProcessGroup {
  std::string name, mesh_dimension;  // mesh_dimension: "" where no DeviceMesh with names made it
  std::vector<int32_t> ranks;        // by position in the group
};
struct ProcessGroups {
  bool imported = false;  // torch.distributed is there
  bool complete = false;
  const char* detail = "";  // why it is not complete; a literal
  std::vector<ProcessGroup> groups;
};

// What phase 2 found.
struct ProgramFacts {
  Names names;
  References references;
  devices::AllocatorSnapshot allocator;
  PythonHeap heap;
  ProcessGroups groups;
  // Why nothing of it is known, a literal.
  void set_detail(const char* why) { names.detail = references.detail = allocator.detail = heap.detail = why; }
};

}  // namespace tensorscope::python
