// SPDX-License-Identifier: Apache-2.0
// Upper bounds on the absolute values in a tensor's memory, as powers of two. A product, a sum or a hyperbolic tangent
// of values whose bounds are known has a bound of its own; below the largest number of its dtype the result is finite,
// and --find-nan need not read it.
//
// Context: any thread, not signal handlers. A fixed amount of memory; the bound of an allocation that is gone, or that
// others have pushed out, is not known.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tensor_values/tensor_view.h"

namespace tensorscope::tensor_values {

// At most 2 to this power; not known: kNoPower.
using Power = int16_t;
inline constexpr Power kNoPower = INT16_MAX;

// How the bound of an operation's result follows from those of its arguments. By name, as operation_kinds.h.
enum class Bound : uint8_t {
  none,           // it does not
  mask,           // at most 1, whatever its arguments are: bernoulli_
  unit,           // at most 1: softmax, tanh, sigmoid
  same,           // at most that of the first argument: neg, abs, relu, gelu
  largest,        // at most the largest argument's: copies, cat
  sum,            // add, sub: the second times the number at position 2
  product,        // mul
  quotient,       // div by a number
  square,         // pow by 2; square
  power,          // pow by a whole number
  tanh_backward,  // gradient * (1 - result * result)
  derivative,     // gradient times a derivative of at most 2: gelu_backward, silu_backward
  log_softmax,
};

struct BoundArgument {
  int position = 0;
  bool is_number = false;
  double number = 0;
  Power power = kNoPower;  // of a tensor
};

// Not known where an argument's is not, or where a step of the computation may leave the dtype's numbers.
Power bound_of_result(Bound bound, int dtype, const BoundArgument* arguments, size_t count);

class ValueBounds {
 public:
  constexpr ValueBounds() = default;

  // Of the whole allocation that the tensor lies in; not known where another dtype was written.
  Power get(const TensorView& view) const;
  void set(const TensorView& view, Power power);
  // Part of it was written.
  void widen(const TensorView& view, Power power);
  void forget(const TensorView& view);  // whatever its dtype

 private:
  static constexpr size_t kSlots = size_t{1} << 14;
  // From above: an allocation's serial number, a dtype (8 bits), a bound (16 bits).
  static size_t place(uint64_t owner) { return (owner >> 8) % kSlots; }
  std::atomic<uint64_t>& slot(uint64_t owner) { return slots_[place(owner)]; }
  const std::atomic<uint64_t>& slot(uint64_t owner) const { return slots_[place(owner)]; }

  std::atomic<uint64_t> slots_[kSlots] = {};
};

}  // namespace tensorscope::tensor_values
