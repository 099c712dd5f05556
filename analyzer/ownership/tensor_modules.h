// SPDX-License-Identifier: Apache-2.0
// Which nn.Module each tensor belongs to: the owner of a parameter, buffer, gradient or optimizer state; else the one
// whose forward made it. A module's path is kept once, however many tensors it has.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dump/dump.h"
#include "ownership/tensor_links.h"
#include "symbols/frame_facts.h"

namespace tensorscope::analyzer {

class TensorModules {
 public:
  TensorModules(const Dump& dump, const FrameFacts& facts, const TensorLinks& links);
  TensorModules(const TensorModules&) = delete;
  TensorModules& operator=(const TensorModules&) = delete;

  // 0: it belongs to none.
  uint32_t number(uint32_t tensor) const { return of_[tensor]; }
  const std::string& path(uint32_t number) const { return paths_[number]; }
  size_t numbers() const { return paths_.size(); }
  // Says so from elsewhere.
  void set(uint32_t tensor, std::string_view path) { of_[tensor] = add(path); }

 private:
  class Finder;
  uint32_t add(std::string_view path);

  std::vector<uint32_t> of_;       // by tensor
  std::deque<std::string> paths_;  // by number; a deque: numbers_ refers to its texts
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

}  // namespace tensorscope::analyzer
