// SPDX-License-Identifier: Apache-2.0
// The sizes that vary between the inputs of a forecast: the batch, the length of a sequence, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "forecast/samples.h"

namespace tensorscope::analyzer::forecast {

inline constexpr size_t kMaxSizes = 2;

struct Size {
  std::string name;
  std::vector<int64_t> seen;  // in each input
  bool found = false;         // in the shapes; else the user told it
  // Other dimensions of the inputs that it may mean, each in every input, the smallest first.
  std::vector<std::vector<int64_t>> others{};
};

// A value of each size, in the order of the sizes.
using SizeValues = std::vector<int64_t>;
SizeValues values_of(const std::vector<Size>& sizes, size_t sample);

// From the shapes of what the inputs have in common: dimensions that differ. `names`: what the user calls them, may be
// empty. Throws BadInput where nothing differs, or where it takes more inputs to tell sizes apart.
std::vector<Size> find_sizes(const std::vector<Sample>& samples, const std::vector<std::string>& names);

// Throws BadInput: a size that is the same in all inputs, or too few inputs to tell the sizes apart.
void check_sizes(const std::vector<Size>& sizes, const std::vector<Sample>& samples);

}  // namespace tensorscope::analyzer::forecast
