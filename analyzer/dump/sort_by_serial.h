// SPDX-License-Identifier: Apache-2.0
// Rows of a dump in the order of their serials, and one of them by its serial.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {

// Sorts rows by serial and drops those whose serial is taken; returns how many those were. `order` then holds, for each
// row that is left, where it was: what lies parallel to the rows follows it. Rows in order stay where they are.
template <typename Row>
size_t sort_by_serial(std::vector<Row>& rows, std::vector<uint32_t>& order) {
  order.resize(rows.size());
  for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
  const auto not_after = [](const Row& a, const Row& b) { return a.serial >= b.serial; };
  if (std::adjacent_find(rows.begin(), rows.end(), not_after) == rows.end()) return 0;
  std::vector<std::pair<uint64_t, uint32_t>> keys;
  keys.reserve(rows.size());
  for (uint32_t i = 0; i < rows.size(); i++) keys.emplace_back(rows[i].serial, i);
  std::sort(keys.begin(), keys.end());
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  keys.erase(std::unique(keys.begin(), keys.end(), same), keys.end());
  const size_t dropped = rows.size() - keys.size();
  order.clear();
  std::vector<Row> sorted;
  sorted.reserve(keys.size());
  for (const auto& [serial, i] : keys) {
    order.push_back(i);
    sorted.push_back(std::move(rows[i]));
  }
  rows = std::move(sorted);
  return dropped;
}

// Room for more rows, without moving those that are there at each call.
template <typename Row>
void make_room(std::vector<Row>& rows, size_t more) {
  if (rows.capacity() - rows.size() < more) rows.reserve(std::max(rows.size() + more, rows.capacity() * 2));
}

// The index of the row with this serial, rows being sorted by it; UINT32_MAX (kNone): there is none. Logarithmic.
template <typename Row>
uint32_t row_with(const std::vector<Row>& rows, uint64_t serial) {
  auto found = std::lower_bound(rows.begin(), rows.end(), serial,
                                [](const Row& row, uint64_t wanted) { return row.serial < wanted; });
  return found == rows.end() || found->serial != serial ? UINT32_MAX : uint32_t(found - rows.begin());
}

// The serials of sorted rows, apart from the rows: looking for many of them stays in the caches.
class SerialIndex {
 public:
  template <typename Row>
  void assign(const std::vector<Row>& rows) {
    serials_.clear();
    serials_.reserve(rows.size());
    for (const Row& row : rows) serials_.push_back(row.serial);
    next_ = 0;
  }

  // As row_with(). A look-up in the order of the rows takes one step.
  uint32_t find(uint64_t serial) {
    if (next_ < serials_.size() && serials_[next_] == serial) return next_++;
    if (next_ > 0 && serials_[next_ - 1] == serial) return next_ - 1;
    const auto found = std::lower_bound(serials_.begin(), serials_.end(), serial);
    if (found == serials_.end() || *found != serial) return UINT32_MAX;
    next_ = uint32_t(found - serials_.begin()) + 1;
    return next_ - 1;
  }

 private:
  std::vector<uint64_t> serials_;
  uint32_t next_ = 0;  // behind the last one that was found
};

}  // namespace tensorscope::analyzer
