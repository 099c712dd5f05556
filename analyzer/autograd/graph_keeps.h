// SPDX-License-Identifier: Apache-2.0
// What an autograd graph keeps alive, in bytes: the storages of everything that its nodes saved, each once, and which
// of them would go away with it.
//
// "Go away" is worked out as the program itself would do it, by counting references among nodes and tensors: a node is
// held by its users, by the live tensors that came out of it, and by Python; a tensor by slots, by Python, by the leaf
// whose gradient it is, by views of it. What nothing known holds is held by something in C++, and stays. Without the
// second phase of a dump nobody knows what Python holds, and what C++ variables hold is never seen: see certain().
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/graph_walk.h"
#include "dump/dump.h"

namespace tensorscope::analyzer {

struct KeptStorage {
  uint32_t storage = kNone;
  uint64_t bytes = 0;          // Storage::own_nbytes
  uint32_t tensor = kNone;     // the saved one
  uint32_t node = kNoNode;     // that saved it: of several its accumulator, else the earliest in the forward pass
  uint32_t slot = kNone;       // index into Graph::saved; kNone: a Python object of the node holds it
  uint32_t reference = kNone;  // then which one: index into References::rows
  uint32_t slots = 0;          // how many slots and Python objects of this graph hold it
  bool only = false;           // goes away with the graph
};

struct Kept {
  std::vector<KeptStorage> storages;  // largest first
  uint64_t bytes = 0, only_bytes = 0;
  uint64_t nodes = 0, freed_nodes = 0;  // in the graph; of these, those that would go away with it
  uint64_t leaves = 0;                  // of the nodes, accumulators; their leaves are in no slot below
  uint64_t held_slots = 0, packed_slots = 0, empty_slots = 0;
  uint64_t python_held = 0;      // tensors that the nodes' Python objects hold: ctx, packed values, hooks
  uint64_t without_storage = 0;  // slots with tensors whose memory is not known (sparse and other wrappers)
};

class GraphKeeps {
 public:
  GraphKeeps(const Dump& dump, const GraphWalk& walk, const GraphTensors& tensors);

  // Of the graph below `roots`. Time goes with the size of that graph alone.
  Kept below(std::span<const uint32_t> roots);
  // Whether Python's references are known: then "only" is a fact as far as Python goes.
  bool certain() const { return certain_; }

 private:
  struct Holders {
    uint32_t count = 0;    // nodes and tensors
    bool outside = false;  // by what is no part of a graph: a variable, a list, C++
  };
  bool has_inner(uint32_t node) const { return node + 1 < graph_.nodes.size() && walk_.is_inner(node + 1); }
  void count_node_holders();
  void count_tensor_holders();
  void count_python();
  void count_views();
  void drop(std::vector<Holders>& holders, uint32_t index, std::vector<uint32_t>& dropped, std::vector<uint8_t>& freed,
            std::vector<uint32_t>& queue);
  void free_with(std::span<const uint32_t> roots);
  void free_node(uint32_t node);
  void free_tensor(uint32_t tensor);
  std::vector<uint32_t> nodes_below(std::span<const uint32_t> roots);
  void collect(uint32_t node, Kept& kept);
  void collect_python(uint32_t node, Kept& kept);
  KeptStorage* entry_of(uint32_t tensor, uint32_t node, Kept& kept);
  void restore();

  const Dump& dump_;
  const Graph& graph_;
  const GraphTensors& tensors_;
  const GraphWalk& walk_;
  bool certain_ = false;
  std::vector<Holders> node_holders_, tensor_holders_;
  NumberLists python_held_;          // by node: References::rows of tensors that its Python objects hold
  NumberLists bases_;                // by view: tensors that nothing but views hold
  std::vector<uint32_t> gradients_;  // by tensor: its gradient

  // Of one call; all as at the start when it ends.
  std::vector<uint8_t> reached_, node_freed_, tensor_freed_;
  std::vector<uint32_t> node_queue_, tensor_queue_, dropped_nodes_, dropped_tensors_;
  std::vector<uint32_t> kept_at_;   // by storage: index into Kept::storages
  std::vector<uint32_t> freed_in_;  // by storage: how many of its tensors go away
};

}  // namespace tensorscope::analyzer
