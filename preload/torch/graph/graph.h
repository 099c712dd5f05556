// SPDX-License-Identifier: Apache-2.0
// The autograd graph as the memory of its nodes shows it, before it is written (GRPH in dump.fbs).
//
// Context: collector. It allocates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump_generated.h"
#include "torch/graph/graph_seeds.h"

namespace tensorscope::torch {

struct Graph {
  struct Node {
    uint64_t address = 0;
    uint64_t serial = 0;  // of the row in NODE, 0: none
    uint64_t object = 0;
    uint64_t sequence = 0;
    uint32_t class_number = 0;
    uint32_t edges = 0;  // those of the nodes before come first
    uint32_t saved = 0;
    uint8_t flags = 0;  // format::GraphNodeFlag
  };

  std::vector<Node> nodes;
  std::vector<format::GraphEdge> edges;
  std::vector<format::SavedSlot> saved;
  std::vector<const char*> class_names;  // mangled; they live in the libraries that define the classes
  std::vector<std::string> functions;    // by node of flag `python`, in their order: its Python class, "" if not known
  bool complete = false;
  const char* detail = "";  // why not; a literal
  GraphSeeds seeds;
};

}  // namespace tensorscope::torch
