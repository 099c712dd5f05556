// SPDX-License-Identifier: Apache-2.0
// What dumps say of the tensors and the memory of one run, for a moment of a recording of it: that has neither names
// nor holders. A tensor, an allocation and a call stack have one number in everything that a process writes.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dump/dump.h"
#include "ownership/category.h"
#include "ownership/tensor_holders.h"

namespace tensorscope::analyzer {

struct KnownTensor {
  std::vector<std::string> names;
  std::vector<Holder> holders;  // their numbers of nodes and tensors are not kept
  uint32_t holder_count = 0;
  Category category = Category::unknown;
  std::string evidence, module;
  size_t dump = 0;  // index into sources()
};

class NamesOfRun {
 public:
  struct Source {
    std::string file;
    uint64_t dump_ns = 0;
  };
  NamesOfRun();
  ~NamesOfRun();
  NamesOfRun(const NamesOfRun&) = delete;
  NamesOfRun& operator=(const NamesOfRun&) = delete;

  // What is added from now on is of this dump. What an earlier one has added stays.
  void add_source(Source source) { sources_.push_back(std::move(source)); }
  void add_tensor(uint64_t serial, KnownTensor known);
  void add_memory(const Allocation& allocation, Category category);

  const std::vector<Source>& sources() const { return sources_; }
  const KnownTensor* tensor(uint64_t serial) const;  // null: in none of them
  Category memory(uint64_t serial) const;            // of an allocation
  // What most bytes are for that were allocated with this call stack, where that is the larger half.
  Category site(uint32_t site) const;

 private:
  std::vector<Source> sources_;
  std::unordered_map<uint64_t, KnownTensor> tensors_;
  std::unordered_map<uint64_t, Category> memory_;
  struct Votes;
  std::unordered_map<uint32_t, Votes> sites_;
};

}  // namespace tensorscope::analyzer
