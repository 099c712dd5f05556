// SPDX-License-Identifier: Apache-2.0
// Where the fields of torch::autograd::Node lie in this process's torch, found by votes of the nodes themselves.
//
// The order of what is used here has been the same since 1.13 (torch/csrc/autograd/function.h, later node.h): sequence
// number, ..., next_edges_, the Python object, anomaly metadata, vectors of hooks. What differs is what comes before
// (reference counts of shared_ptr, of intrusive_ptr from 2.13 on) and the size of an Edge (a pointer of one or two
// words, then a 32-bit number).
//
// Context: collector. The nodes may die while they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/status.h"
#include "torch/graph/address_map.h"
#include "torch/metadata/object_class.h"
#include "torch/metadata/safe_reads.h"

namespace tensorscope::torch {

inline constexpr char kNodeClass[] = "N5torch8autograd4NodeE";
inline constexpr char kAccumulateGrad[] = "N5torch8autograd14AccumulateGradE";

struct NodeLayout {
  uint32_t edges = 0;  // offset of next_edges_, 0: not known
  uint32_t edge_size = 0;
  uint32_t sequence = 0;  // offset, 0: not known
  uint32_t size = 0;      // of a Node: where the fields of a derived class begin; 0: not known

  uint32_t object() const { return edges + 24; }  // PyObject* (2.12: a pointer, 2.13: an atomic in a PyObjectSlot)
  uint32_t hooks() const { return edges + 40; }   // after the Python object and the anomaly metadata
  // Words of a pointer to a Node: std::shared_ptr or intrusive_ptr.
  uint32_t pointer_words() const { return edge_size / 8 - 1; }
};

// A std::vector that can be one: three words.
struct VectorWords {
  uint64_t begin, end, capacity;
  bool plausible() const {
    return begin <= end && end <= capacity && begin % 8 == 0 && (begin != 0) == (capacity != 0);
  }
  uint64_t bytes() const { return end - begin; }
};

inline VectorWords vector_at(const unsigned char* bytes, size_t offset) {
  return {word_at(bytes, offset), word_at(bytes, offset + 8), word_at(bytes, offset + 16)};
}

// Whether a word can be a pointer to an object on the heap, or is 0.
inline bool can_be_pointer(uint64_t word) {
  return word == 0 || (word % 8 == 0 && word >= 0x1000 && word < uint64_t{1} << 56);
}

// Sets `edges` and `edge_size` from some nodes; at least one must have an edge. Fails if the system does not allow
// reading, or no layout explains them.
Status find_edges(const std::vector<uint64_t>& nodes, ObjectClasses& classes, NodeLayout& layout);

// Sets `sequence` and `size` from nodes of the class AccumulateGrad: the only field of their own is the leaf
// (functions/accumulate_grad.h), and their sequence number is the largest there is. `tensors`: live ones.
bool find_size(const std::vector<uint64_t>& accumulators, const AddressMap& tensors, NodeLayout& layout);

}  // namespace tensorscope::torch
