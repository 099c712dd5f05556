// SPDX-License-Identifier: Apache-2.0
// A list of numbers for each of many rows, in two vectors: who uses a node, who saves a tensor.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {

class NumberLists {
 public:
  NumberLists() = default;
  // (row, number) pairs; numbers of one row keep their order. Every row is below `rows`.
  NumberLists(size_t rows, const std::vector<std::pair<uint32_t, uint32_t>>& pairs)
      : first_(rows + 1), numbers_(pairs.size()) {
    for (const auto& [row, number] : pairs) ++first_[row + 1];
    for (size_t row = 0; row < rows; ++row) first_[row + 1] += first_[row];
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (const auto& [row, number] : pairs) numbers_[next[row]++] = number;
  }

  std::span<const uint32_t> of(uint32_t row) const {
    return std::span<const uint32_t>(numbers_).subspan(first_[row], first_[row + 1] - first_[row]);
  }

 private:
  std::vector<uint32_t> first_, numbers_;
};

}  // namespace tensorscope::analyzer
