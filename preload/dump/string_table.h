// SPDX-License-Identifier: Apache-2.0
// The strings of one dump, each once; index 0 is the empty string.
//
// Context: collector. Not for use under a table lock: it allocates.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tensorscope::dump {

class StringTable {
 public:
  StringTable() { intern(std::string_view()); }

  uint32_t intern(std::string_view text) {
    auto found = index_.find(text);
    if (found != index_.end()) return found->second;
    const auto id = uint32_t(values_.size());
    values_.emplace_back(text);
    index_.emplace(values_.back(), id);
    return id;
  }

  // For texts that stay where they are (class names, literals): one look-up by address.
  uint32_t intern_literal(const char* text) {
    auto [found, fresh] = by_address_.try_emplace(text, 0);
    if (fresh) found->second = intern(text);
    return found->second;
  }

  const std::deque<std::string>& values() const { return values_; }

 private:
  std::deque<std::string> values_;
  std::unordered_map<std::string_view, uint32_t> index_;
  std::unordered_map<const void*, uint32_t> by_address_;
};

}  // namespace tensorscope::dump
