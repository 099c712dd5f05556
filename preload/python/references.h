// What phase 2 of a dump needs from phase 1, and what it finds in Python: the rows of the REFS chunk.
//
// Context: filled with the GIL, written without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dump_generated.h"
#include "snapshot/devices/segments.h"
#include "snapshot/graph/graph_seeds.h"
#include "snapshot/string_table.h"

namespace tensorscope::python {

struct References {
  bool complete = false;
  const char* detail = "";  // why it is not complete; a literal
  snapshot::StringTable strings;
  std::vector<dump::Reference> references;
  std::vector<dump::TensorObject> tensors;
  std::vector<dump::SlotName> slots;
  std::vector<dump::NodeReference> nodes;
  uint64_t objects = 0;
  uint64_t gil_ns = 0;
};

struct SnapshotFacts {
  uint64_t serial = UINT64_MAX;                       // the newest tensor of the dump
  std::shared_ptr<const snapshot::GraphSeeds> graph;  // null: no graph was read
  bool devices = false;                               // torch's allocator of CUDA memory is to be asked
};

}  // namespace tensorscope::python
