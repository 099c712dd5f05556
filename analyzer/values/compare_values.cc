// SPDX-License-Identifier: Apache-2.0
#include "values/compare_values.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "values/element_type.h"

namespace tensorscope::values {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ratio(double difference, double of) { return difference == 0 ? 0 : of == 0 ? kInfinity : difference / of; }

// |a - b|; 0 for equal infinities and for two NaN, infinite where one of them alone is not finite.
double distance(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return kInfinity;
  return std::abs(a - b);
}

// Numbers of both sides, one after the other, with the largest differences so far.
class Differences {
 public:
  Differences(const Tolerance& tolerance, double scale) : tolerance_(tolerance), scale_(scale) {
    result_.tolerance = tolerance;
  }

  double allowed(double magnitude) const {
    return tolerance_.absolute + tolerance_.relative * std::max(magnitude, scale_);
  }

  // True where this is the largest excess so far.
  bool add(double difference, double magnitude) { return add(difference, magnitude, allowed(magnitude)); }
  bool add(double difference, double magnitude, double allowed) {
    if (difference == 0) return false;
    result_.absolute = std::max(result_.absolute, difference);
    const double relative = difference == kInfinity ? kInfinity : ratio(difference, std::max(magnitude, scale_));
    result_.relative = std::max(result_.relative, relative);
    const double excess = ratio(difference, allowed);
    if (difference > allowed) {
      ++result_.beyond;
      result_.verdict = Verdict::different;
    }
    if (excess <= result_.excess) return false;
    result_.excess = excess;
    return true;
  }
  Comparison& result() { return result_; }

 private:
  Tolerance tolerance_;
  double scale_;
  Comparison result_;
};

std::complex<double> complex_of(const Elements& elements, size_t index) {
  return {real_of(elements.dtype, elements.bytes.data(), index),
          imaginary_of(elements.dtype, elements.bytes.data(), index)};
}

double root_mean_square(const Elements& elements, size_t count) {
  double sum = 0, finite = 0;
  for (size_t i = 0; i < count; ++i) {
    const double real = real_of(elements.dtype, elements.bytes.data(), i);
    const double imaginary = imaginary_of(elements.dtype, elements.bytes.data(), i);
    const double square = real * real + imaginary * imaginary;
    if (!std::isfinite(square)) continue;
    sum += square;
    ++finite;
  }
  return finite == 0 ? 0 : std::sqrt(sum / finite);
}

std::vector<int64_t> place_of(size_t index, const std::vector<int64_t>& shape) {
  std::vector<int64_t> place(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] <= 0) return {};
    place[i] = int64_t(index % size_t(shape[i]));
    index /= size_t(shape[i]);
  }
  return place;
}

bool is_integer(int dtype) { return is_signed_integer(dtype) || is_unsigned_integer(dtype) || dtype == kBool; }

// Integers of 64 bits have more digits than a double.
bool same_integer(const Elements& a, const Elements& b, size_t index) {
  return integer_of(a.dtype, a.bytes.data(), index) == integer_of(b.dtype, b.bytes.data(), index);
}

bool readable(const Elements& elements) {
  const size_t size = element_size(elements.dtype);
  return size > 0 && elements.bytes.size() / size >= element_count(elements.shape);
}

Comparison equal(Basis basis, uint64_t count = 1) {
  Comparison result;
  result.basis = basis;
  result.count = count;
  return result;
}

Comparison not_comparable(Basis basis) {
  Comparison result = equal(basis);
  result.verdict = Verdict::not_comparable;
  return result;
}

Comparison different(Basis basis) {
  Comparison result = equal(basis);
  result.verdict = Verdict::different;
  return result;
}

bool is_number(const Value& value) {
  using enum format::ValueKind;
  return value.kind == boolean || value.kind == integer || value.kind == real || value.kind == complex;
}

std::complex<double> number_of(const Value& value) {
  return value.kind == format::ValueKind::integer ? std::complex<double>(double(value.integer))
                                                  : std::complex<double>(value.number, value.imaginary);
}

Comparison compare_numbers(const Value& a, const Value& b, const Tolerance& tolerance) {
  const std::complex<double> x = number_of(a), y = number_of(b);
  Differences differences(tolerance, 0);
  if (a.kind == format::ValueKind::integer && b.kind == a.kind) {
    if (a.integer != b.integer) differences.add(std::max(1.0, std::abs(x - y)), std::max(std::abs(x), std::abs(y)));
  } else {
    differences.add(std::hypot(distance(x.real(), y.real()), distance(x.imag(), y.imag())),
                    std::max(std::abs(x), std::abs(y)));
  }
  Comparison& result = differences.result();
  result.basis = Basis::scalar;
  result.count = 1;
  result.a = x.real();
  result.b = y.real();
  return result;
}

Comparison compare_texts(const ValuesFile& a_file, const Value& a, const ValuesFile& b_file, const Value& b) {
  const std::optional<Elements> x = a_file.elements_of(a), y = b_file.elements_of(b);
  if (!x || !y) return not_comparable(Basis::text);
  return x->bytes == y->bytes ? equal(Basis::text) : different(Basis::text);
}

// Of an unchanged value they may be those of the value whose elements it has.
std::optional<Statistics> recorded_statistics(const ValuesFile& file, const Value& value) {
  if (value.statistics || !value.unchanged()) return value.statistics;
  const std::optional<Value> same = file.value(value.same_as);
  return same ? same->statistics : std::nullopt;
}

// The elements of both, where they can be compared one by one.
std::optional<std::pair<Elements, Elements>> elements_of_both(const ValuesFile& a_file, const Value& a,
                                                              const ValuesFile& b_file, const Value& b) {
  if (!a.is_tensor() || a.shape != b.shape || a.kept_shape != b.kept_shape) return std::nullopt;
  std::optional<Elements> x = a_file.elements_of(a);
  if (!x || !readable(*x)) return std::nullopt;
  std::optional<Elements> y = b_file.elements_of(b);
  if (!y || !readable(*y)) return std::nullopt;
  return std::pair{std::move(*x), std::move(*y)};
}

Comparison compare_summaries(const ValuesFile& a_file, const Value& a, const ValuesFile& b_file, const Value& b,
                             const Tolerance& tolerance) {
  if (a.shape != b.shape) return different(Basis::shape);
  const std::optional<Statistics> x = recorded_statistics(a_file, a), y = recorded_statistics(b_file, b);
  if (!x || !y || x->count != y->count) return not_comparable(Basis::statistics);
  if (x->hash != 0 && y->hash != 0 && a.dtype == b.dtype) {
    if (x->hash == y->hash) return equal(Basis::hash, x->count);
    if (tolerance.exact()) {
      Comparison statistics = compare_statistics(*x, *y, tolerance);
      if (statistics.verdict == Verdict::different) return statistics;
      return different(Basis::hash);
    }
  }
  return compare_statistics(*x, *y, tolerance);
}

}  // namespace

// Some units in the last place: what one operation done in another order costs. Float32 also for what TF32 is not.
Tolerance default_tolerance(int dtype) {
  switch (dtype) {
    case kFloat64:
    case kComplex128:
      return {1e-12, 1e-9};
    case -1:
    case kFloat32:
    case kComplex64:
      return {1e-8, 1e-5};
    case kFloat16:
    case kComplex32:
      return {1e-6, 4e-3};
    case kBfloat16:
      return {1e-6, 3e-2};
    case kFloat8E4M3:
    case kFloat8E4M3Fnuz:
      return {1e-3, 0.25};
    case kFloat8E5M2:
    case kFloat8E5M2Fnuz:
    case kFloat8E8M0:
      return {1e-3, 0.5};
    default:
      return {0, 0};
  }
}

int coarser_dtype(int a, int b) { return default_tolerance(b).relative > default_tolerance(a).relative ? b : a; }

Comparison compare_elements(const Elements& a, const Elements& b, const Tolerance& tolerance) {
  const size_t count = size_t(element_count(a.shape));
  if (a.shape != b.shape) return different(Basis::shape);
  if (a.dtype == b.dtype && a.bytes == b.bytes) return equal(Basis::elements, count);
  Differences differences(tolerance, std::max(root_mean_square(a, count), root_mean_square(b, count)));
  const bool integers = is_integer(a.dtype) && is_integer(b.dtype);
  const bool complex = is_complex(a.dtype) || is_complex(b.dtype);
  size_t worst = 0;
  for (size_t i = 0; i < count; ++i) {
    if (integers && same_integer(a, b, i)) continue;
    double difference, magnitude;
    if (complex) {
      const std::complex<double> x = complex_of(a, i), y = complex_of(b, i);
      difference = std::hypot(distance(x.real(), y.real()), distance(x.imag(), y.imag()));
      magnitude = std::max(std::abs(x), std::abs(y));
    } else {
      const double x = real_of(a.dtype, a.bytes.data(), i), y = real_of(b.dtype, b.bytes.data(), i);
      difference = integers ? std::max(distance(x, y), 1.0) : distance(x, y);
      magnitude = std::max(std::abs(x), std::abs(y));
    }
    if (differences.add(difference, std::isfinite(magnitude) ? magnitude : 0)) worst = i;
  }
  Comparison& result = differences.result();
  result.count = count;
  if (result.excess > 0) {
    result.where = place_of(worst, a.shape);
    result.a = real_of(a.dtype, a.bytes.data(), worst);
    result.b = real_of(b.dtype, b.bytes.data(), worst);
  }
  return result;
}

Comparison compare_statistics(const Statistics& a, const Statistics& b, const Tolerance& tolerance) {
  const auto scale_of = [](const Statistics& s) { return s.finite() == 0 ? 0 : s.l2 / std::sqrt(double(s.finite())); };
  const double scale = std::max(scale_of(a), scale_of(b));
  const double n = double(std::max<uint64_t>(1, std::min(a.finite(), b.finite())));
  Differences differences(tolerance, scale);
  Comparison& result = differences.result();
  result.basis = Basis::statistics;
  result.count = a.count;
  const auto add = [&](Statistic which, double x, double y, double allowed) {
    const double magnitude = std::max(std::abs(x), std::abs(y));
    if (!differences.add(distance(x, y), std::isfinite(magnitude) ? magnitude : 0, allowed)) return;
    result.statistic = which;
    result.a = x;
    result.b = y;
  };
  const auto add_count = [&](Statistic which, uint64_t x, uint64_t y) {
    if (x == y || result.excess == kInfinity) return;
    differences.add(kInfinity, 0, 0);
    result.statistic = which;
    result.a = double(x);
    result.b = double(y);
  };
  add_count(Statistic::nan, a.nan, b.nan);
  add_count(Statistic::positive_infinity, a.positive_infinity, b.positive_infinity);
  add_count(Statistic::negative_infinity, a.negative_infinity, b.negative_infinity);
  if (result.excess == kInfinity || a.finite() == 0) {
    result.beyond = 0;
    return result;
  }
  const double l2 = tolerance.absolute * std::sqrt(n) + tolerance.relative * std::sqrt(2.0) * std::max(a.l2, b.l2);
  add(Statistic::minimum, a.minimum, b.minimum,
      differences.allowed(std::max(std::abs(a.minimum), std::abs(b.minimum))));
  add(Statistic::maximum, a.maximum, b.maximum,
      differences.allowed(std::max(std::abs(a.maximum), std::abs(b.maximum))));
  add(Statistic::mean, a.mean, b.mean, tolerance.absolute + tolerance.relative * (std::max(a.l1, b.l1) / n + scale));
  add(Statistic::deviation, a.deviation, b.deviation, n > 1 ? l2 / std::sqrt(n - 1) : tolerance.absolute);
  add(Statistic::l2, a.l2, b.l2, l2);
  result.beyond = 0;  // elements are not known
  return result;
}

Comparison compare_values(const ValuesFile& a_file, const Value& a, const ValuesFile& b_file, const Value& b,
                          const ChosenTolerance& chosen) {
  using enum format::ValueKind;
  const bool numbers = is_number(a) && is_number(b);
  if (a.kind != b.kind && !numbers) return different(Basis::kind);
  int dtype = coarser_dtype(a.dtype, b.dtype);
  const auto elements = elements_of_both(a_file, a, b_file, b);
  if (elements) dtype = coarser_dtype(dtype, coarser_dtype(elements->first.dtype, elements->second.dtype));
  if (!default_tolerance(dtype).exact()) dtype = coarser_dtype(dtype, chosen.at_least);
  Tolerance tolerance = default_tolerance(dtype);
  if (numbers && a.kind != real && a.kind != complex && b.kind != real && b.kind != complex) tolerance = {0, 0};
  // Integers are equal or not, whatever floating-point numbers may differ by.
  if (!tolerance.exact()) {
    tolerance = {chosen.absolute.value_or(tolerance.absolute), chosen.relative.value_or(tolerance.relative)};
  }
  Comparison result = numbers          ? compare_numbers(a, b, tolerance)
                      : elements       ? compare_elements(elements->first, elements->second, tolerance)
                      : a.is_tensor()  ? compare_summaries(a_file, a, b_file, b, tolerance)
                      : a.kind == none ? equal(Basis::scalar)
                                       : compare_texts(a_file, a, b_file, b);
  result.tolerance = tolerance;
  result.dtype = dtype;
  return result;
}

}  // namespace tensorscope::values
