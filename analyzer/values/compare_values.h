// SPDX-License-Identifier: Apache-2.0
// Whether two values are the same, by the best that both files have: elements, hash, statistics. Each is compared with
// a tolerance that follows from the coarser of both dtypes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "values/values_file.h"

namespace tensorscope::values {

// Numbers a and b agree where |a - b| <= absolute + relative * max(|a|, |b|, root mean square of the tensor): what
// rounding does to a sum is as large as the terms of the sum, not as the sum.
struct Tolerance {
  double absolute = 0, relative = 0;
  bool exact() const { return absolute == 0 && relative == 0; }
};
// Of a dtype: {0, 0} for integers and bool.
Tolerance default_tolerance(int dtype);
// The one that has the larger default tolerance. -1 is a number of Python, which has mostly been a float32 tensor.
int coarser_dtype(int a, int b);

// What two values were compared by.
enum class Basis : uint8_t { elements, hash, statistics, scalar, text, shape, kind };
enum class Verdict : uint8_t { equal, different, not_comparable };
enum class Statistic : uint8_t {
  none,
  nan,
  positive_infinity,
  negative_infinity,
  minimum,
  maximum,
  mean,
  deviation,
  l2
};

struct Comparison {
  Verdict verdict = Verdict::equal;
  Basis basis = Basis::elements;
  Tolerance tolerance;
  int dtype = -1;  // whose tolerance it is
  // The largest differences; infinite where a NaN or infinity is on one side alone, 0 by hash, text, shape and kind.
  double absolute = 0, relative = 0;
  double excess = 0;                      // the largest difference in units of what is allowed there
  uint64_t count = 0, beyond = 0;         // elements; how many differ by more than allowed
  std::vector<int64_t> where;             // elements: of the largest excess
  Statistic statistic = Statistic::none;  // statistics: of the largest excess
  double a = 0, b = 0;                    // what stands there on both sides
};

// Instead of the dtypes' defaults; integers are equal or not.
struct ChosenTolerance {
  std::optional<double> absolute, relative;
  int at_least = 0;  // values of floating point have the tolerance of this dtype, or that of their own if it is larger
};
Comparison compare_values(const ValuesFile& a_file, const Value& a, const ValuesFile& b_file, const Value& b,
                          const ChosenTolerance& chosen);
Comparison compare_elements(const Elements& a, const Elements& b, const Tolerance& tolerance);
// How far elements that are within the tolerance can move a statistic: its tolerance.
Comparison compare_statistics(const Statistics& a, const Statistics& b, const Tolerance& tolerance);

}  // namespace tensorscope::values
