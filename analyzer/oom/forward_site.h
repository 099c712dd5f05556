// SPDX-License-Identifier: Apache-2.0
// Where the operation of an autograd node was called.
#pragma once

#include <cstdint>

#include "dump/dump.h"

namespace tensorscope::analyzer::oom {

// Of a node of the graph; site 0: its making was not seen.
inline uint32_t forward_site(const Dump& dump, uint32_t node) {
  const uint32_t seen = dump.graph.nodes[node].seen;
  return seen == kNone ? 0 : dump.nodes[seen].site;
}

}  // namespace tensorscope::analyzer::oom
