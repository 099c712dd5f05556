// SPDX-License-Identifier: Apache-2.0
// Names that many dumps have in common, each kept once. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tensorscope::analyzer {

class NamePool {
 public:
  uint32_t add(std::string_view name) {
    const std::lock_guard guard(lock_);
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    names_.emplace_back(name);
    ids_.emplace(names_.back(), uint32_t(names_.size() - 1));
    return uint32_t(names_.size() - 1);
  }
  const std::string& operator[](uint32_t id) const {
    const std::lock_guard guard(lock_);
    return names_[id];
  }
  size_t size() const {
    const std::lock_guard guard(lock_);
    return names_.size();
  }

 private:
  mutable std::mutex lock_;
  std::deque<std::string> names_;  // a deque: ids_ refers to its texts
  std::unordered_map<std::string_view, uint32_t> ids_;
};

}  // namespace tensorscope::analyzer
