// SPDX-License-Identifier: Apache-2.0
// Bytes by nn.Module, as the tree that the model is: a module's line includes the modules in it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/grouping.h"
#include "ownership/category.h"

namespace tensorscope::analyzer {

struct ModuleRow {
  std::string name;        // last part of the path; where a module has no line of its own: "encoder.layers.*"
  std::string path;        // whole, with '*' for the numbers of modules that were put together
  std::string class_name;  // of the nn.Module, "" where not known
  int depth = 0;
  uint64_t modules = 1;                       // how many stand in this line
  std::array<uint64_t, kCategories> bytes{};  // by category, inner modules included
  uint64_t total = 0;
};

struct ModuleSums {
  std::vector<ModuleRow> rows;  // outer before inner, in the order in which their tensors were made
  ModuleRow none;               // what belongs to no module, blocks in no tensor included
  ModuleRow all;                // equal to the outermost rows and `none` together
};

// Of the selected items; each counts for the module of the tensor that speaks for its storage (holders.h).
// `merge`: numbered modules of one structure make one line.
ModuleSums module_sums(const View& view, bool merge);

// Groups by module as a tree: in its order, with sub-totals, labels indented. Modules above others that hold nothing
// themselves get a line where they have several below them. What is no path comes last.
std::vector<Group> module_tree(std::vector<Group> groups);

}  // namespace tensorscope::analyzer
