// SPDX-License-Identifier: Apache-2.0
#include "forecast/shape_relations.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace tensorscope::analyzer::forecast {

namespace {

std::vector<int64_t> sorted(std::span<const int64_t> shape) {
  std::vector<int64_t> result(shape.begin(), shape.end());
  std::ranges::sort(result);
  return result;
}

}  // namespace

bool broadcasts(std::span<const int64_t> own, std::span<const int64_t> shape) {
  if (own.empty() || own.size() > shape.size()) return false;
  for (size_t i = 1; i <= own.size(); ++i) {
    if (own[own.size() - i] != 1 && own[own.size() - i] != shape[shape.size() - i]) return false;
  }
  return true;
}

bool joins(std::span<const int64_t> own, std::span<const int64_t> shape) {
  if (own.size() + 1 < shape.size() || own.size() > shape.size()) return false;
  const auto [a, b] = std::ranges::mismatch(own, shape);
  return b != shape.end() &&
         std::ranges::equal(own.size() == shape.size() ? std::span(a + 1, own.end()) : std::span(a, own.end()),
                            std::span(b + 1, shape.end()));
}

bool is_part(std::span<const int64_t> part, std::span<const int64_t> whole) {
  const auto longer_than_one = [](std::span<const int64_t> shape) {
    std::vector<int64_t> result;
    std::ranges::copy_if(shape, std::back_inserter(result), [](int64_t dimension) { return dimension != 1; });
    return result;
  };
  const std::vector<int64_t> a = longer_than_one(part), b = longer_than_one(whole);
  if (a.size() != b.size()) return false;
  size_t differ = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0 || b[i] % a[i] != 0) return false;
    differ += a[i] != b[i];
  }
  return differ == 1;
}

bool fits_into(std::span<const int64_t> own, std::span<const int64_t> shape) {
  return own.size() == shape.size() && std::ranges::equal(sorted(own), sorted(shape), std::ranges::less_equal());
}

}  // namespace tensorscope::analyzer::forecast
