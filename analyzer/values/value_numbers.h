// SPDX-License-Identifier: Apache-2.0
// One number of a value: its mean, its largest element, its share of zeros.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "values/values_file.h"

namespace tensorscope::values {

enum class Stat : uint8_t { mean, std, absmax, min, max, l2, nan, zeros };
struct StatWord {
  const char* word;
  Stat stat;
};
inline constexpr StatWord kStatWords[] = {{"mean", Stat::mean}, {"std", Stat::std},    {"absmax", Stat::absmax},
                                          {"min", Stat::min},   {"max", Stat::max},    {"l2", Stat::l2},
                                          {"nan", Stat::nan},   {"zeros", Stat::zeros}};
const char* word_of(Stat stat);

// Of elements as they are in a file; nothing for a dtype that is no number.
std::optional<Statistics> statistics_of(const Elements& elements);
// The value's own, else of its elements, else of the number that it is. Reads the file only where the value has
// elements and no statistics.
std::optional<Statistics> statistics_of(const ValuesFile& file, const Value& value);
// The same without reading the file.
std::optional<Statistics> statistics_at_hand(const Value& value);

// nan: NaN and infinite elements; zeros: both as a share of all. Nothing where no element is finite.
std::optional<double> number_of(const Statistics& statistics, Stat stat);

}  // namespace tensorscope::values
