// SPDX-License-Identifier: Apache-2.0
// What the nodes of a walked graph keep: saved tensors by slot, packed values, hooks, Python's part of custom
// Functions.
//
// Context: collector.
#pragma once

#include <cstdint>
#include <vector>

#include "torch/graph/graph_seeds.h"
#include "torch/graph/graph_walk.h"
#include "torch/graph/node_extent.h"
#include "torch/graph/saved_slots.h"

namespace tensorscope::torch {

struct WalkedSlot {
  uint64_t tensor = 0;  // TensorImpl, 0: none
  uint64_t hooks = 0;   // SavedVariableHooks, 0: not packed
  uint16_t ordinal = 0;
  int16_t element = -1;
  bool output = false;
};

// What holds for the whole process once it is known.
struct SlotLayout {
  bool saved_known = false;
  uint32_t saved_extra_bytes = 0;
  uint32_t saved_in_function = 0;  // offset of saved_variables in a THPFunction, 0: not known
};

struct SlotSources {
  GraphWalk& walk;
  const NodeLayout& layout;
  const AddressMap& tensors;  // live ones
  uint64_t undefined;
  ObjectClasses& classes;
  NodeExtents& extents;
  SlotLayout& known;
};

class SlotReader {
 public:
  explicit SlotReader(const SlotSources& sources);

  // Learns the places of all classes. False: the system does not allow reading.
  bool learn();
  // Of nodes [begin, end) of the walk, which follow those that were read before.
  bool read(size_t begin, size_t end);

  struct NodeSlots {
    uint64_t sequence = 0;
    uint32_t first = 0, count = 0;  // in slots
    bool whole = false;
  };
  std::vector<NodeSlots> nodes;
  std::vector<WalkedSlot> slots;
  std::vector<GraphSeeds::Packed> packed;  // `node`: number in the walk
  std::vector<GraphSeeds::Hook> hooks;

 private:
  struct ClassSlots {
    std::vector<SlotPlace> places;  // from the begin of the derived part
    uint32_t size = 0;              // bytes of the derived part that hold them
    bool known = false;
  };
  struct Batch;
  bool read_functions();
  bool learn_functions();
  void learn_class(uint32_t number, const std::vector<NodeSample>& samples);
  NodeKind kind_of(uint32_t node) const { return in_.walk.node_classes[in_.walk.nodes[node].class_number].kind; }
  // What is to be read of a node beside its head: where, and how much.
  void add_fields(uint32_t node, Batch& batch);
  void add_lists(uint32_t node, Batch& batch);
  void add_slots(uint32_t node, Batch& batch);
  void add_list(const VectorWords& list, Batch& batch);
  void add_elements(uint32_t node, uint16_t ordinal, const VectorWords& list, Batch& batch);
  void add_saved(uint32_t node, const unsigned char* bytes, uint16_t ordinal, int16_t element);
  bool read_packed(size_t first_slot);
  bool read_hooks(const Batch& batch);

  SlotSources in_;
  SlotFinder finder_;
  std::vector<ClassSlots> classes_;
  bool allowed_ = true;
};

}  // namespace tensorscope::torch
