// SPDX-License-Identifier: Apache-2.0
// Where the saved tensors of a class of autograd nodes lie: found by looking at nodes of that class, since every class
// declares its own fields (torch/csrc/autograd/generated/Functions.h).
//
// A torch::autograd::SavedVariable (saved_variable.h, same members 1.13 to 2.14) begins with the tensor's address, or
// that of the undefined tensor; flags and pointers follow that fit together only where a SavedVariable is. Its size
// depends on what a pointer to a Node is, and 1.13 has one more pointer. A slot that holds a list is a std::vector of
// them.
//
// Context: collector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "torch/graph/address_map.h"
#include "torch/graph/node_layout.h"
#include "torch/metadata/object_class.h"

namespace tensorscope::torch {

struct SavedLayout {
  uint32_t pointer_bytes = 0;  // of a pointer to a Node
  uint32_t extra_bytes = 0;    // the version counter of 1.13

  uint32_t versions() const { return 24 + pointer_bytes + extra_bytes; }  // saved_version_, output_nr_
  uint32_t flags() const { return versions() + 8; }
  uint32_t hooks() const { return flags() + 8; }
  uint32_t size() const { return hooks() + 8 + 2 * pointer_bytes + 8; }
};

// What one SavedVariable says.
struct SavedFields {
  uint64_t tensor = 0;  // 0: none
  uint64_t hooks = 0;   // SavedVariableHooks*, 0: none
  bool output = false;  // the original is not kept: the tensor is an alias of it
  bool original = false;
};

// False: at `bytes` (size() of them) is no SavedVariable. That `tensor` is one is not asked.
bool read_saved(const SavedLayout& layout, const unsigned char* bytes, uint64_t undefined, SavedFields& out);

struct SlotPlace {
  uint32_t offset = 0;
  bool list = false;
};

// The derived part of one node: the bytes from the end of its Node on.
struct NodeSample {
  const unsigned char* bytes;
  size_t size;
};

class SlotFinder {
 public:
  // `tensors`: live ones; `undefined`: the singleton.
  SlotFinder(const NodeLayout& layout, const AddressMap& tensors, uint64_t undefined, ObjectClasses& classes);

  // Decides about the size of a SavedVariable: nodes of any classes. False: none of them has one.
  bool find_layout(const std::vector<NodeSample>& samples);
  const SavedLayout& layout() const { return layout_; }
  // The sizes that there are, for whoever has to try.
  static constexpr uint32_t kExtraBytes[] = {0, 8};
  void use_layout(uint32_t extra_bytes) { layout_.extra_bytes = extra_bytes; }

  // Places of saved tensors, in their order, in objects of one class; offsets from the begin of the samples. False: the
  // system does not allow reading.
  bool find_slots(const std::vector<NodeSample>& samples, std::vector<SlotPlace>& out);

 private:
  struct Candidates;
  bool known_tensor(uint64_t word) const { return word == undefined_ || tensors_.find(word) != AddressMap::kNone; }
  bool is_tensor(uint64_t word) const { return known_tensor(word) || more_tensors_.find(word) != AddressMap::kNone; }
  bool learn_tensors(const std::vector<uint64_t>& words);
  void note_stranger(const unsigned char* bytes, Candidates& candidates) const;
  void look_at(size_t sample, size_t at, Candidates& candidates) const;
  bool read_candidates(Candidates& candidates);
  bool is_single(const Candidates& candidates, size_t sample, size_t offset) const;
  bool is_list(const Candidates& candidates, size_t sample, size_t offset) const;

  const AddressMap& tensors_;
  AddressMap more_tensors_;  // made after the tables were copied: known by their class
  uint64_t undefined_;
  ObjectClasses& classes_;
  SavedLayout layout_;
};

}  // namespace tensorscope::torch
