// SPDX-License-Identifier: Apache-2.0
// Variables that were computed from their own earlier values, again and again: a running sum of losses, a recurrent
// state that was not detached. Seen in one dump: below the node of such a variable lie nodes that the same place made.
#pragma once

#include <cstdint>
#include <vector>

#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer::oom {

struct Chain {
  const Series* series = nullptr;   // the variable
  uint32_t tensor = 0;              // its value now
  size_t length = 0;                // earlier values
  uint32_t site = 0;                // where they are computed
  bool sum = false;                 // what is added does not come out of it
  std::vector<uint32_t> variables;  // tensors in variables that lead to it, this one included
  std::vector<uint32_t> freed;      // tensors that these graphs alone keep: of the earlier values, of a sum all
};

// The longest first; variables that lead to the same chain count once.
std::vector<Chain> find_chains(const LeakAnalysis& analysis);

}  // namespace tensorscope::analyzer::oom
