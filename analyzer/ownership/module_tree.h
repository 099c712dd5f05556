// SPDX-License-Identifier: Apache-2.0
// Module paths as a tree, with the numbered siblings of equal structure found: "layers.0" to "layers.31" make one class
// "layers.*". Structure is what hangs below: own marks (a number for each thing that happened in the module), children
// by name, and for numbered children which numbers there are. Linear in the length of all paths; no recursion.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {

class ModuleTree {
 public:
  ModuleTree() : nodes_(1) {}

  // The node of a path; paths are cut after `depth` names (0: not).
  uint32_t add(std::string_view path, uint32_t depth = 0);
  void mark(uint32_t node, uint32_t what) { nodes_[node].marks.push_back(what); }
  // After all were added: finds the classes.
  void merge();

  uint32_t class_of(uint32_t node) const { return nodes_[node].merged; }  // equal for merged nodes
  std::string path(uint32_t node) const;                                  // "model.layers.*.attn"
  std::vector<std::string> indices(uint32_t node) const;                  // of each '*' in it: "0..31"

 private:
  struct Node {
    uint32_t parent = 0;
    std::string name;                // as in the path
    std::vector<uint32_t> children;  // numbered ones by number once merge() ran
    std::vector<uint32_t> marks;
    std::string shown;    // name, "*", or "[0..3]" where several groups of siblings were merged
    std::string indices;  // of the group it is in, "" if it is in none
    uint32_t structure = 0, merged = 0;
  };
  void group_children(uint32_t node);

  std::vector<Node> nodes_;  // [0] is the root; parents come before their children
  std::map<std::pair<uint32_t, std::string>, uint32_t> children_;
};

// "0..31", "0,2,5..7": numbers in ascending order.
std::string index_ranges(const std::vector<std::string>& numbers);

}  // namespace tensorscope::analyzer
