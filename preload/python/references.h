// SPDX-License-Identifier: Apache-2.0
// What phase 2 of a dump needs from phase 1, and what it finds in Python: the rows of the REFS chunk.
//
// Context: filled with the GIL, written without it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "devices/segments.h"
#include "dump_generated.h"
#include "python/text_pool.h"
#include "support/page_array.h"
#include "torch/graph/graph_seeds.h"

namespace tensorscope::python {

struct References {
  bool complete = false;
  const char* detail = "";  // why it is not complete; a literal
  TextPool strings;
  PageArray<format::Reference> references;
  PageArray<format::TensorObject> tensors;
  std::vector<format::SlotName> slots;
  PageArray<format::NodeReference> nodes;
  PageArray<format::TensorWithin> within;
  uint64_t objects = 0;
  uint64_t gil_ns = 0;
  format::NamesLimit stopped_by = format::NamesLimit::none;
  uint64_t time_limit_ms = 0;  // of the time with the GIL
  uint64_t memory_limit = 0, memory_taken = 0;
  PageArray<uint64_t> ids;    // of the objects of `tensors`
  PageArray<uint64_t> freed;  // serials, ascending
  std::vector<format::RunningCall> calls;
  PageArray<uint32_t> call_of;       // of each of `references`: its place in `calls` plus 1, 0: none
  PageArray<uint64_t> beginnings;    // id() of the objects that texts begin at
  PageArray<uint32_t> begins_at;     // of each of `references`: its place in `beginnings` plus 1, 0: none
  PageArray<uint32_t> node_call_of;  // the same of each of `nodes`
  PageArray<uint32_t> node_begins_at;
  std::vector<format::Container> containers;
  PageArray<uint32_t> shared_of;  // of each of `references`: its place in `shared` plus 1, 0: none
  PageArray<format::SharedEntry> shared;
  PageArray<format::OtherWay> other_ways;
  std::vector<format::NamedObject> profilers;
  const char* containers_detail = nullptr;  // a literal, as in the chunk; null: nothing was added up
};

// What a tensor keeps alive, for the order in which tensors get names, and where. In serial order.
struct TensorSize {
  uint64_t serial, bytes, base;  // of its storage
  uint64_t first;                // address of its own first element
};
using TensorSizes = PageArray<TensorSize>;

struct SnapshotFacts {
  uint64_t serial = UINT64_MAX;                    // the newest tensor of the dump
  std::shared_ptr<const torch::GraphSeeds> graph;  // null: no graph was read
  std::shared_ptr<const TensorSizes> sizes;        // null: not known
  bool devices = false;                            // also read torch's allocator of CUDA memory
};

}  // namespace tensorscope::python
