// SPDX-License-Identifier: Apache-2.0
#include "values/value_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "values/element_type.h"

namespace tensorscope::values {

namespace {

// Welford's, so that a large mean does not eat the deviation.
class Sums {
 public:
  void add(double x) {
    ++out_.count;
    if (std::isnan(x)) {
      ++out_.nan;
      return;
    }
    if (std::isinf(x)) {
      ++(x > 0 ? out_.positive_infinity : out_.negative_infinity);
      return;
    }
    if (x == 0) ++out_.zeros;
    out_.minimum = std::min(out_.minimum, x);
    out_.maximum = std::max(out_.maximum, x);
    out_.sum += x;
    out_.l1 += std::fabs(x);
    out_.l2 += x * x;
    const double before = x - out_.mean;
    out_.mean += before / double(++finite_);
    squares_ += before * (x - out_.mean);
  }
  Statistics result() {
    if (finite_ == 0) out_.minimum = out_.maximum = 0;
    out_.l2 = std::sqrt(out_.l2);
    out_.deviation = finite_ > 1 ? std::sqrt(squares_ / double(finite_ - 1)) : 0;
    return out_;
  }
  Sums() {
    out_.minimum = std::numeric_limits<double>::infinity();
    out_.maximum = -out_.minimum;
  }

 private:
  Statistics out_;
  uint64_t finite_ = 0;
  double squares_ = 0;
};

Statistics of_one(double x) {
  Sums sums;
  sums.add(x);
  return sums.result();
}

}  // namespace

const char* word_of(Stat stat) {
  for (const StatWord& each : kStatWords) {
    if (each.stat == stat) return each.word;
  }
  return "";
}

std::optional<Statistics> statistics_of(const Elements& elements) {
  const size_t size = element_size(elements.dtype);
  if (size == 0) return std::nullopt;
  Sums sums;
  const bool complex = is_complex(elements.dtype);
  for (size_t i = 0; i < elements.bytes.size() / size; ++i) {
    const double real = real_of(elements.dtype, elements.bytes.data(), i);
    sums.add(complex ? std::hypot(real, imaginary_of(elements.dtype, elements.bytes.data(), i)) : real);
  }
  return sums.result();
}

std::optional<Statistics> statistics_at_hand(const Value& value) {
  switch (value.kind) {
    case format::ValueKind::integer:
      return of_one(double(value.integer));
    case format::ValueKind::boolean:
    case format::ValueKind::real:
      return of_one(value.number);
    case format::ValueKind::complex:
      return of_one(std::hypot(value.number, value.imaginary));
    default:
      return value.statistics;
  }
}

std::optional<Statistics> statistics_of(const ValuesFile& file, const Value& value) {
  if (const auto known = statistics_at_hand(value); known || !value.is_tensor()) return known;
  const auto elements = file.elements_of(value);
  return elements ? statistics_of(*elements) : std::nullopt;
}

std::optional<double> number_of(const Statistics& statistics, Stat stat) {
  const auto share = [&](uint64_t part) -> std::optional<double> {
    if (statistics.count == 0) return std::nullopt;
    return double(part) / double(statistics.count);
  };
  if (stat == Stat::nan) return share(statistics.nan + statistics.infinite());
  if (stat == Stat::zeros) return share(statistics.zeros);
  if (statistics.finite() == 0) return std::nullopt;
  switch (stat) {
    case Stat::std:
      return statistics.deviation;
    case Stat::absmax:
      return statistics.absmax();
    case Stat::min:
      return statistics.minimum;
    case Stat::max:
      return statistics.maximum;
    case Stat::l2:
      return statistics.l2;
    default:
      return statistics.mean;
  }
}

}  // namespace tensorscope::values
