// SPDX-License-Identifier: Apache-2.0
// What each live tensor is called, why it is still alive, what it is for, and which module it belongs to: put together
// from Python's references, the autograd graph, gradient links, views and storages. Everything rests on a link, a slot
// or a holder, never on what a name looks like; without evidence a tensor stays "unknown".
//
// Categories and modules are found when it is made, in time linear to tensors, references and graph. Texts (names,
// holders, evidence) are made for all tensors when the first is read. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/dump.h"
#include "ownership/category.h"
#include "ownership/tensor_holders.h"
#include "ownership/tensor_modules.h"
#include "tensorscope/rules/name_forms.h"

namespace tensorscope::analyzer {

class NamesOfRun;

class Holders {
 public:
  // `symbols` names native functions, where categories need them; null: they are not asked.
  // `names`: of a moment of a recording, what dumps of the same run say. Null: none was found.
  // All three must outlive it.
  explicit Holders(const Dump& dump, Symbols* symbols = nullptr, const NamesOfRun* names = nullptr);
  ~Holders();

  // All names, best first: those that the program gave itself, parameter and buffer paths, optimizer state, gradients
  // ("model.fc1.weight.grad"), module outputs ("model.fc1.out[0]"), variables and containers ("train.py: losses[3]",
  // "h (local of Block.forward)"); for what has none of these saved slots ("model.fc1: AddmmBackward0.mat1"). Empty:
  // none known.
  const std::vector<std::string>& names(uint32_t tensor) const;
  std::string name(uint32_t tensor) const;  // the best, "" if none
  // The first ones, closest first; at least one for every tensor of a dump that has phase 2.
  const std::vector<Holder>& holders(uint32_t tensor) const;
  uint32_t holder_count(uint32_t tensor) const;
  // The strongest that a tensor of the same storage shows: memory is for one thing.
  Category category(uint32_t tensor) const { return categories_[tensor]; }
  // Why this category: "in model.fc1's parameters", "saved by ReluBackward0.result", "shares the storage of #12
  // (model.fc1.weight), in model.fc1's parameters".
  const std::string& evidence(uint32_t tensor) const;
  CategorySource category_source(uint32_t tensor) const { return sources_[tensor]; }
  // The nn.Module it belongs to: owner of a parameter, buffer, gradient or optimizer state; else the one whose forward
  // made it. "" where none.
  const std::string& module(uint32_t tensor) const { return modules().path(modules().number(tensor)); }
  const TensorModules& modules() const;
  // The tensor that says what a storage is: the one with the strongest category, of several the oldest named one.
  uint32_t representative(uint32_t storage) const { return representatives_[storage]; }

 private:
  class Finder;
  std::unique_ptr<Finder> finder_;
  std::vector<Category> categories_;       // by tensor
  std::vector<CategorySource> sources_;    // by tensor
  std::vector<uint32_t> representatives_;  // by storage
};

// Many names as one text, of the forms those that have the most bytes; names need not be kept meanwhile.
class MergedNames {
 public:
  void add(std::string_view name, uint64_t bytes) { forms_.add(name, bytes); }
  // How many forms there are, numbers apart.
  size_t forms() const { return forms_.size(); }
  std::string text(size_t shown = 2) const;

 private:
  rules::NameForms forms_;
};

// "train.py: losses[0]", "train.py: losses[1]", "train.py: losses[127]" make "train.py: losses[0..127]"; numbers that
// differ in more than one place, or in a dotted path, become '*'. Names of other forms come after a semicolon.
std::string merged_names(const std::vector<std::string>& names);
// The same, the form that has the most bytes first.
using WeighedName = std::pair<std::string, uint64_t>;
std::string merged_names(const std::vector<WeighedName>& names);

}  // namespace tensorscope::analyzer
