// SPDX-License-Identifier: Apache-2.0
#include "forecast/growth.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tensorscope::analyzer::forecast {

namespace {

constexpr double kDeviceRounding = 512;
constexpr Powers kConstant = {};
constexpr double kRounding = 0.01;
// What may vary with sizes, the simplest first.
constexpr std::array<Powers, 7> kForms = {{{1, 0}, {0, 1}, {1, 1}, {2, 0}, {0, 2}, {1, 2}, {2, 1}}};

bool possible(const Powers& powers, size_t sizes) {
  for (size_t i = sizes; i < kMaxSizes; ++i) {
    if (powers[i] != 0) return false;
  }
  return true;
}

// The line through the inputs with the smallest and the largest power; none: the power is the same in all.
std::optional<Term> line(const Powers& powers, const std::vector<SizeValues>& at, std::span<const double> values) {
  size_t low = 0, high = 0;
  for (size_t i = 1; i < at.size(); ++i) {
    if (power(powers, at[i]) < power(powers, at[low])) low = i;
    if (power(powers, at[i]) > power(powers, at[high])) high = i;
  }
  const double from = power(powers, at[low]), to = power(powers, at[high]);
  if (from == to) return std::nullopt;
  Term term;
  term.powers = powers;
  term.factor = (values[high] - values[low]) / (to - from);
  term.base = values[low] - term.factor * from;
  if (std::abs(term.base) <= 1e-9 * std::abs(values[high])) term.base = 0;
  return term;
}

double worst(const Term& term, const std::vector<SizeValues>& at, std::span<const double> values) {
  double found = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    found = std::max(found, std::abs(term.value(at[i]) - values[i]) / std::max(1.0, values[i]));
  }
  return found;
}

bool all_equal(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; });
}

// A dimension: constant, in proportion to a product of sizes, or a line of one. None: something else.
std::optional<Term> dimension(const std::vector<SizeValues>& at, std::span<const double> values, size_t sizes) {
  if (all_equal(values)) return Term{values[0], 0, kConstant};
  for (bool proportional : {true, false}) {
    for (const Powers& powers : kForms) {
      if (!possible(powers, sizes)) continue;
      const std::optional<Term> found = line(powers, at, values);
      if (!found || (proportional && found->base != 0) || worst(*found, at, values) > 1e-9) continue;
      // Through two points there is always a line: one that no size starts at 0 has to be as simple as can be.
      if (!proportional && powers[0] + powers[1] > 1) continue;
      return found;
    }
  }
  return std::nullopt;
}

std::vector<SizeValues> points(const std::vector<Size>& sizes) {
  std::vector<SizeValues> result;
  for (size_t i = 0; i < sizes.front().seen.size(); ++i) result.push_back(values_of(sizes, i));
  return result;
}

double round_up(double value, double to) { return std::ceil(value / to) * to; }

// Solves by elimination; false: not solvable.
bool solve(std::vector<std::vector<double>> rows, std::vector<double>& out) {
  const size_t n = rows.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t r = i + 1; r < n; ++r) {
      if (std::abs(rows[r][i]) > std::abs(rows[pivot][i])) pivot = r;
    }
    if (std::abs(rows[pivot][i]) < 1e-12) return false;
    std::swap(rows[i], rows[pivot]);
    for (size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double by = rows[r][i] / rows[i][i];
      for (size_t c = i; c <= n; ++c) rows[r][c] -= by * rows[i][c];
    }
  }
  out.resize(n);
  for (size_t i = 0; i < n; ++i) out[i] = rows[i][n] / rows[i][i];
  return true;
}

}  // namespace

const char* text(Basis basis) {
  constexpr const char* kTexts[kBases] = {"constant",    "shape",     "verified", "assumed",
                                          "not-matched", "irregular", "library"};
  return size_t(basis) < kBases ? kTexts[size_t(basis)] : "";
}

double power(const Powers& powers, const SizeValues& at) {
  double result = 1;
  for (size_t i = 0; i < at.size() && i < powers.size(); ++i) {
    for (uint8_t n = 0; n < powers[i]; ++n) result *= double(at[i]);
  }
  return result;
}

Growth::Growth(const std::vector<Size>& sizes, std::span<const SeenBlock> seen, size_t base, bool cpu)
    : base_bytes_(seen[base].bytes) {
  if (by_shape(sizes, seen, cpu)) return;
  by_bytes(sizes, seen);
  if (std::ranges::any_of(seen, &SeenBlock::scratch)) basis_ = Basis::scratch;
}

bool Growth::by_shape(const std::vector<Size>& sizes, std::span<const SeenBlock> seen, bool cpu) {
  const size_t rank = seen[0].shape.size();
  for (const SeenBlock& block : seen) {
    if (block.itemsize == 0 || block.itemsize != seen[0].itemsize || block.shape.size() != rank) return false;
  }
  const std::vector<SizeValues> at = points(sizes);
  std::vector<Term> terms;
  std::vector<double> values(seen.size());
  for (size_t d = 0; d <= rank; ++d) {
    for (size_t i = 0; i < seen.size(); ++i) values[i] = double(d == rank ? seen[i].count : seen[i].shape[d]);
    const std::optional<Term> term = dimension(at, values, sizes.size());
    if (!term) return false;
    terms.push_back(*term);
  }
  const double rounding = cpu ? 1 : kDeviceRounding;
  double slack = 0;
  for (const SeenBlock& block : seen) {
    double each = block.itemsize;
    for (int64_t dim : block.shape) each *= double(dim);
    const double expected = round_up(each, rounding) * double(block.count);
    if (block.bytes < expected) return false;
    slack = std::max(slack, block.bytes - expected);
  }
  if (cpu && slack != 0) return false;
  product_ = true;
  terms_ = std::move(terms);
  itemsize_ = seen[0].itemsize;
  rounding_ = rounding;
  slack_ = slack;
  const bool varies = std::any_of(terms_.begin(), terms_.end(), [](const Term& term) { return term.varies(); });
  const bool assumed = seen.size() == 2 && std::any_of(terms_.begin(), terms_.end(), [](const Term& term) {
                         return term.varies() && term.base != 0;
                       });
  basis_ = !varies ? Basis::constant : assumed ? Basis::assumed : Basis::shape;
  return true;
}

void Growth::by_bytes(const std::vector<Size>& sizes, std::span<const SeenBlock> seen) {
  std::vector<double> values;
  for (const SeenBlock& block : seen) values.push_back(block.bytes);
  if (all_equal(values)) {
    terms_ = {{values[0], 0, kConstant}};
    basis_ = Basis::constant;
    return;
  }
  const std::vector<SizeValues> at = points(sizes);
  std::optional<Term> best;
  for (const Powers& powers : kForms) {
    if (!possible(powers, sizes.size())) continue;
    const std::optional<Term> found = line(powers, at, values);
    if (!found) continue;
    if (!best || worst(*found, at, values) < worst(*best, at, values) - 1e-9) best = found;
  }
  if (!best) {
    terms_ = {{*std::max_element(values.begin(), values.end()), 0, kConstant}};
    basis_ = Basis::irregular;
    residual_ = 1;
    return;
  }
  terms_ = {*best};
  // Less at a larger size, by more than rounding: a library took another path, and how that goes on is not known.
  if (best->factor < 0 && base_bytes_ < (1 - kRounding) * *std::ranges::max_element(values)) {
    basis_ = Basis::not_matched;
    least_ = base_bytes_;
    return;
  }
  residual_ = worst(*best, at, values);
  // Sizes of libraries' buffers are rounded to pages and cache lines.
  if (residual_ <= 1e-3 && best->factor > 0) {
    basis_ = seen.size() > 2 ? Basis::verified : Basis::assumed;
    return;
  }
  // As many terms as inputs: a + b*batch + c*sequence, a + b*sequence + c*sequence^2.
  std::vector<Powers> forms = {kConstant};
  for (const Powers& powers : kForms) {
    if (possible(powers, sizes.size()) && forms.size() < seen.size()) forms.push_back(powers);
  }
  if (sizes.size() == 1) forms = {{0, 0}, {1, 0}, {2, 0}};
  if (forms.size() == seen.size()) {
    std::vector<std::vector<double>> rows;
    for (size_t i = 0; i < at.size(); ++i) {
      rows.emplace_back();
      for (const Powers& powers : forms) rows.back().push_back(power(powers, at[i]));
      rows.back().push_back(values[i]);
    }
    std::vector<double> factors;
    if (solve(rows, factors) && std::all_of(factors.begin() + 1, factors.end(), [](double f) { return f >= 0; })) {
      terms_.clear();
      for (size_t i = 0; i < forms.size(); ++i) {
        terms_.push_back(i == 0 ? Term{factors[0], 0, kConstant} : Term{0, factors[i], forms[i]});
      }
      basis_ = Basis::assumed;
      return;
    }
  }
  basis_ = Basis::irregular;
}

double Growth::bytes(const SizeValues& at) const {
  double result = product_ ? 1 : 0;
  if (!product_) {
    for (const Term& term : terms_) result += term.value(at);
    return std::max(least_, result - left_out_);
  }
  for (size_t i = 0; i + 1 < terms_.size(); ++i) result *= std::max(0.0, std::floor(terms_[i].value(at) + 1e-6));
  return std::max(0.0, round_up(result * itemsize_, rounding_) * std::max(0.0, terms_.back().value(at)) - left_out_);
}

double Growth::constant_part() const { return bytes(SizeValues(kMaxSizes, 0)); }

Growth Growth::growing_part() const {
  Growth part = *this;
  part.left_out_ += constant_part();
  return part;
}

double Growth::spread(const SizeValues& at, const SizeValues& base) const {
  const double value = bytes(at), grown = std::abs(value - bytes(base));
  switch (basis_) {
    case Basis::constant:
    case Basis::shape:
    case Basis::verified:
      return slack_;
    case Basis::assumed:
      // Of a product only how a dimension goes on is assumed; else half of what is extrapolated.
      return product_ ? grown * 0.05 + slack_ : grown * 0.5;
    case Basis::not_matched: {
      double ratio = 1;
      for (size_t i = 0; i < at.size(); ++i) ratio *= std::max(1.0, double(at[i]) / double(base[i]));
      return base_bytes_ * std::max(1.0, ratio - 1);
    }
    case Basis::irregular:
      return std::max(grown, residual_ * value);
    case Basis::scratch:
      return std::max(value, base_bytes_);
  }
  return 0;
}

Powers Growth::powers() const {
  Powers result{};
  for (const Term& term : terms_) {
    if (term.factor <= 0) continue;
    for (size_t i = 0; i < kMaxSizes; ++i) {
      result[i] = product_ ? uint8_t(result[i] + term.powers[i]) : std::max(result[i], term.powers[i]);
    }
  }
  return result;
}

}  // namespace tensorscope::analyzer::forecast
