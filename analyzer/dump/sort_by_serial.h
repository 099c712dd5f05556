// Rows of a dump in the order of their serials, and one of them by its serial.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {

// Sorts rows by serial and drops those whose serial is taken; returns how many those were. `order` then holds, for each
// row that is left, where it was: what lies parallel to the rows follows it.
template <typename Row>
size_t sort_by_serial(std::vector<Row>& rows, std::vector<uint32_t>& order) {
  order.resize(rows.size());
  for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
  auto serial = [&](uint32_t i) { return rows[i].serial; };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return serial(a) < serial(b); });
  auto last = std::unique(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return serial(a) == serial(b); });
  size_t dropped = size_t(order.end() - last);
  order.erase(last, order.end());
  std::vector<Row> sorted;
  sorted.reserve(order.size());
  for (uint32_t i : order) sorted.push_back(std::move(rows[i]));
  rows = std::move(sorted);
  return dropped;
}

// The index of the row with this serial, rows being sorted by it; UINT32_MAX (kNone): there is none. Logarithmic.
template <typename Row>
uint32_t row_with(const std::vector<Row>& rows, uint64_t serial) {
  auto found = std::lower_bound(rows.begin(), rows.end(), serial,
                                [](const Row& row, uint64_t wanted) { return row.serial < wanted; });
  return found == rows.end() || found->serial != serial ? UINT32_MAX : uint32_t(found - rows.begin());
}

}  // namespace tensorscope::analyzer
