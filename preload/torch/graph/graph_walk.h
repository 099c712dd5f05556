// SPDX-License-Identifier: Apache-2.0
// The nodes of the autograd graph and the edges between them.
//
// Context: collector.
#pragma once

#include <cstdint>
#include <vector>

#include "torch/graph/address_map.h"
#include "torch/graph/node_layout.h"
#include "torch/metadata/object_class.h"

namespace tensorscope::torch {

enum class NodeKind : uint8_t { none, plain, accumulates, python, copy_slices };

struct NodeClass {
  uint64_t vtable = 0;
  const char* name = "";
  NodeKind kind = NodeKind::none;  // none: no autograd node
};

struct WalkedNode {
  uint64_t address = 0;
  uint64_t object = 0;
  uint32_t class_number = 0;
  uint32_t first_edge = 0;
  uint32_t edges = 0;
  uint32_t inner = AddressMap::kNone;  // the node that this one wraps (CopySlices)
  bool alive = false;                  // its memory was that of a node
  bool partial = false;                // its edges could not be read
};

struct WalkedEdge {
  uint32_t node;  // AddressMap::kNone: to nothing
  uint32_t input;
};

class GraphWalk {
 public:
  explicit GraphWalk(ObjectClasses& classes);

  // The number of the node at this address, which is visited by the next walk() where it is new. Not 0.
  uint32_t add(uint64_t address);

  // Visits what was added since the last time, and all that is reached from there. False: the system does not allow
  // reading.
  bool walk(const NodeLayout& layout);

  uint32_t class_of(uint64_t vtable);

  std::vector<WalkedNode> nodes;
  std::vector<WalkedEdge> edges;
  std::vector<NodeClass> node_classes;

 private:
  bool walk_batch(const NodeLayout& layout, size_t begin, size_t end);

  ObjectClasses& classes_;
  AddressMap numbers_;
  AddressMap class_numbers_;
  size_t visited_ = 0;
};

}  // namespace tensorscope::torch
