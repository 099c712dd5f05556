// SPDX-License-Identifier: Apache-2.0
// Inputs of modules that nothing keeps now, and that torch.utils.checkpoint would keep to compute the modules again.
//
// An edge of the graph that leaves a module leads to the node that made an input. The input is kept now where it is
// alive, or where the first nodes of the module behind that edge saved memory that was allocated outside. Else it is
// taken to be as large as the largest tensor that these nodes saved: sums, copies and norms of it have its size.
// Inputs that need no gradient have no edge and count for nothing.
//
// Not thread-safe. Units: bytes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/grouping.h"

namespace tensorscope::analyzer::oom {

// The module that allocated a storage; "" where it is not known.
const std::string& allocated_in(const View& view, uint32_t storage);

class ModuleInputs {
 public:
  explicit ModuleInputs(const View& view);

  // Of all these modules together: what several of them are given counts once. Linear in the graph.
  uint64_t not_kept(const std::set<std::string>& modules) const;

 private:
  struct Input {
    bool kept = false;
    uint64_t bytes = 0;
  };

  const std::string& path(uint32_t node) const;
  void look_behind(uint32_t node, const std::string& module, Input& input) const;
  bool look_at_saved(uint32_t node, const std::string& module, Input& input) const;

  const View& view_;
  std::vector<std::vector<uint32_t>> consumers_;   // of each node: whose edges lead to it
  std::set<std::pair<uint64_t, uint32_t>> alive_;  // the node and which of its outputs, of each tensor that is alive
};

}  // namespace tensorscope::analyzer::oom
