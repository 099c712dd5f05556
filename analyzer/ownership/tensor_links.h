// SPDX-License-Identifier: Apache-2.0
// The links of a dump's tensors to each other and to the autograd graph, both ways: whose gradient a tensor is, which
// node it came out of, which slots hold it. Linear in tensors and graph.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

struct HeldSlot {
  uint32_t node = kNoNode;
  uint32_t slot = 0;  // index into Graph::saved
};

class TensorLinks {
 public:
  explicit TensorLinks(const Dump& dump);

  uint32_t gradient_of(uint32_t tensor) const { return gradient_of_[tensor]; }  // kNone: of none
  // The tensor that it is a part of, and as what: "values", "indices", "part 2". kNone: of none.
  uint32_t owner(uint32_t tensor) const { return owner_[tensor]; }
  std::string part_name(uint32_t tensor) const;
  // Its grad_fn as a number in the graph; kNoNode: a leaf, or not in the graph.
  uint32_t grad_fn(uint32_t tensor) const { return grad_fn_[tensor]; }
  // The node that computed it: its grad_fn, or where it is a detached alias of an output, that output's node.
  uint32_t creator(uint32_t tensor) const { return creator_[tensor]; }
  // Slots that hold it, accumulators' too.
  std::span<const HeldSlot> slots(uint32_t tensor) const {
    return {slots_.data() + first_slot_[tensor], first_slot_[tensor + 1] - first_slot_[tensor]};
  }
  // The node, as a row of Dump::nodes, in whose backward the tensor's memory was made; kNone: in none.
  uint32_t made_in_backward_of(uint32_t tensor) const;
  bool accumulates(uint32_t node) const;

 private:
  const Dump& dump_;
  std::vector<uint32_t> gradient_of_, grad_fn_, creator_, first_slot_;
  std::vector<uint32_t> owner_, ordinal_, parts_;  // by tensor: which part of its owner it is; how many it has
  std::vector<HeldSlot> slots_;
};

}  // namespace tensorscope::analyzer
