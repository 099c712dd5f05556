// SPDX-License-Identifier: Apache-2.0
// What the graph's own memory shows of Python, for phase 2: which objects belong to which node of the GRPH chunk.
//
// None of these addresses is known to be alive: whoever has the GIL uses one only where it is an object that the
// garbage collector tracks at that moment.
//
// Context: filled by the collector after phase 1, read with the GIL.
#pragma once

#include <cstdint>
#include <vector>

namespace tensorscope::torch {

struct GraphSeeds {
  struct Node {
    uint32_t number = 0;   // in GRPH
    uint64_t address = 0;  // of the C++ node
    uint64_t object = 0;   // the ctx of a custom Function, or the object that `tensor.grad_fn` returned; 0: none
  };
  // A saved slot whose value saved-tensor hooks keep (torch::autograd::PySavedVariableHooks).
  struct Packed {
    uint32_t node = 0;
    uint16_t ordinal = 0;  // as SavedSlot
    int16_t element = -1;
    uint64_t pack_hook = 0, unpack_hook = 0, data = 0;  // PyObject*
  };
  // The dictionary of a hook that is registered on a node (tensor.register_hook, node.register_hook).
  struct Hook {
    uint32_t node = 0;
    uint64_t dictionary = 0;  // PyObject*
  };
  std::vector<Node> nodes;  // every node of the chunk, in its order
  std::vector<Packed> packed;
  std::vector<Hook> hooks;
};

}  // namespace tensorscope::torch
