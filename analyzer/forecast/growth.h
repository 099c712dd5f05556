// SPDX-License-Identifier: Apache-2.0
// How many bytes an allocation has, as a function of the sizes that vary: from its shape, where each dimension is
// explained by a size, else from its bytes alone. Nothing is fitted that the inputs do not bear out, or `basis` says
// so.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "forecast/sizes.h"

namespace tensorscope::analyzer::forecast {

// Powers of the sizes that are multiplied: {1, 2} is batch * sequence^2.
using Powers = std::array<uint8_t, kMaxSizes>;
double power(const Powers& powers, const SizeValues& at);

// base + factor * power
struct Term {
  double base = 0, factor = 0;
  Powers powers{};
  double value(const SizeValues& at) const { return base + factor * power(powers, at); }
  bool varies() const { return factor != 0; }
};

// What an allocation was in one input. `count`: how many of them were alive at once.
struct SeenBlock {
  double bytes = 0;
  std::span<const int64_t> shape{};  // where `itemsize` is not 0
  uint8_t itemsize = 0;
  int64_t count = 1;
  bool scratch = false;  // Block::scratch
};

// From how good a ground the growth is known, the best first.
enum class Basis : uint8_t {
  constant,     // the same bytes in all inputs
  shape,        // the product of the dimensions
  verified,     // a form with fewer unknowns than there are inputs
  assumed,      // a form that as many unknowns as inputs always fit
  not_matched,  // nothing like it is in another input, or there is less of it at a larger size
  irregular,    // no form fits
  scratch       // a library chooses it by the size, and may choose otherwise for another one
};
inline constexpr size_t kBases = size_t(Basis::scratch) + 1;
const char* text(Basis basis);  // for programs: "shape", "not-matched"

class Growth {
 public:
  // Not seen in other inputs.
  explicit Growth(double bytes, Basis basis = Basis::not_matched)
      : basis_(basis), terms_{{bytes, 0, {}}}, base_bytes_(bytes) {}
  // `seen`: one for each input. `cpu`: no allocator rounds requests.
  Growth(const std::vector<Size>& sizes, std::span<const SeenBlock> seen, size_t base, bool cpu);

  static Growth constant(double bytes) {
    Growth growth(bytes);
    growth.basis_ = Basis::constant;
    return growth;
  }

  Basis basis() const { return basis_; }
  double bytes(const SizeValues& at) const;
  // Returns an estimate of how far that may be off, in bytes. 0 if it follows from the shape.
  double spread(const SizeValues& at, const SizeValues& base) const;
  // The highest power of each size; all 0: constant.
  Powers powers() const;
  bool varies() const { return powers() != Powers{}; }
  // What it has where the sizes are 0, and the rest of it.
  double constant_part() const;
  Growth growing_part() const;

 private:
  bool by_shape(const std::vector<Size>& sizes, std::span<const SeenBlock> seen, bool cpu);
  void by_bytes(const std::vector<Size>& sizes, std::span<const SeenBlock> seen);

  Basis basis_ = Basis::constant;
  bool product_ = false;  // of the terms; else their sum
  std::vector<Term> terms_;
  double itemsize_ = 1;  // product: of an element
  double rounding_ = 1;  // product: to a multiple of so many bytes
  double slack_ = 0;     // product: bytes that the allocator may give beyond that
  double residual_ = 0;  // irregular: the largest part by which an input is missed
  double base_bytes_ = 0;
  double left_out_ = 0;  // bytes that are not counted
  double least_ = 0;     // not_matched: bytes at any size
};

}  // namespace tensorscope::analyzer::forecast
