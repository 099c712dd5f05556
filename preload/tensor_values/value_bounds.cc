// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/value_bounds.h"

#include <algorithm>
#include <cmath>

#include "live/allocation_table.h"
#include "tensorscope/rules/dtypes.h"

namespace tensorscope::tensor_values {

using enum rules::Dtype;

namespace {

// The largest power of two that is a number of the dtype.
int largest_power(int dtype) {
  switch (dtype) {
    case kFloat16:
      return 15;
    case kBfloat16:
    case kFloat32:
      return 127;
    case kFloat64:
      return 1023;
    default:
      return -1;
  }
}

constexpr int kMaxArguments = 4;
// A division by a number is a multiplication with its reciprocal, which has to be a number of the dtype.
constexpr double kSmallestDivisor = 0x1p-10, kLargestDivisor = 0x1p10;
constexpr double kMaxFactor = 8;  // of a power

bool power_of_number(double number, int& out) {
  if (!std::isfinite(number)) return false;
  int exponent = 0;
  std::frexp(number, &exponent);  // |number| < 2 to the exponent; 0 for 0
  out = exponent;
  return true;
}

// Of a tensor or a number.
bool power_of(const BoundArgument* argument, int& out) {
  if (argument == nullptr) return false;
  if (argument->is_number) return power_of_number(argument->number, out);
  out = argument->power;
  return argument->power != kNoPower;
}

// What a slot holds above the bound; 0: the memory is not an allocation that is followed.
uint64_t owner_of(const TensorView& view) {
  const uint64_t serial = live::g_allocations.find(view.storage_data, live::DeviceTable::kCpu).serial;
  return serial == 0 ? 0 : serial << 8 | uint8_t(view.dtype);
}

}  // namespace

Power bound_of_result(Bound bound, int dtype, const BoundArgument* arguments, size_t count) {
  const int most = largest_power(dtype);
  if (most < 0) return kNoPower;
  const BoundArgument* at[kMaxArguments] = {};
  for (size_t i = 0; i < count; ++i) {
    const BoundArgument& argument = arguments[i];
    if (argument.position < kMaxArguments && at[argument.position] == nullptr) at[argument.position] = &argument;
  }
  int a = 0, b = 0, result = 0;
  switch (bound) {
    case Bound::none:
      return kNoPower;
    case Bound::largest:
      result = INT16_MIN;
      for (size_t i = 0; i < count; ++i) {
        if (arguments[i].is_number) continue;
        if (arguments[i].power == kNoPower) return kNoPower;
        result = std::max(result, int{arguments[i].power});
      }
      if (result == INT16_MIN) return kNoPower;
      break;
    case Bound::mask:
      result = 0;
      break;
    case Bound::unit:
      if (!power_of(at[0], a)) return kNoPower;
      result = 1;  // with room for rounding
      break;
    case Bound::same:
      if (!power_of(at[0], a)) return kNoPower;
      result = a;
      break;
    case Bound::sum: {
      int factor = 0;
      if (at[2] == nullptr || !at[2]->is_number || !power_of_number(at[2]->number, factor)) return kNoPower;
      if (!power_of(at[0], a) || !power_of(at[1], b)) return kNoPower;
      if (a > most || b > most || factor > most) return kNoPower;
      result = std::max(a, b + factor) + 1;
      break;
    }
    case Bound::product:
      if (!power_of(at[0], a) || !power_of(at[1], b) || a > most || b > most) return kNoPower;
      result = a + b;
      break;
    case Bound::quotient: {
      if (!power_of(at[0], a) || at[1] == nullptr || !at[1]->is_number) return kNoPower;
      const double divisor = std::abs(at[1]->number);
      if (!(divisor >= kSmallestDivisor && divisor <= kLargestDivisor)) return kNoPower;
      power_of_number(divisor, b);
      result = std::max(a - b + 1, 0);  // one of its forms rounds
      break;
    }
    case Bound::square:
      if (!power_of(at[0], a)) return kNoPower;
      result = 2 * std::max(a, 0);
      break;
    case Bound::power: {
      if (!power_of(at[0], a) || at[1] == nullptr || !at[1]->is_number) return kNoPower;
      const double exponent = at[1]->number;
      if (!(exponent >= 1 && exponent <= kMaxFactor) || exponent != std::floor(exponent)) return kNoPower;
      result = int(exponent) * std::max(a, 0);
      break;
    }
    case Bound::tanh_backward:
      if (!power_of(at[0], a) || !power_of(at[1], b) || 2 * b > most) return kNoPower;
      result = a + 2 * std::max(b, 0) + 1;
      break;
    case Bound::derivative:
      // Steps of the computation have a cube of the input in them.
      if (!power_of(at[0], a) || !power_of(at[1], b) || 3 * std::max(b, 0) + 1 > most) return kNoPower;
      result = a + 1;
      break;
    case Bound::log_softmax:
      if (!power_of(at[0], a)) return kNoPower;
      result = std::max(a, 6) + 2;  // the logarithm of a count is below 64
      break;
  }
  return result <= most ? Power(std::max(result, -most)) : kNoPower;
}

Power ValueBounds::get(const TensorView& view) const {
  const uint64_t owner = owner_of(view);
  if (owner == 0) return kNoPower;
  const uint64_t word = slot(owner).load(std::memory_order_relaxed);
  return word >> 16 == owner ? Power(word & 0xffff) : kNoPower;
}

void ValueBounds::set(const TensorView& view, Power power) {
  const uint64_t owner = owner_of(view);
  if (owner != 0) slot(owner).store(owner << 16 | uint16_t(power), std::memory_order_relaxed);
}

void ValueBounds::widen(const TensorView& view, Power power) {
  const Power before = get(view);
  if (before != kNoPower) set(view, power == kNoPower ? kNoPower : std::max(before, power));
}

void ValueBounds::forget(const TensorView& view) {
  const uint64_t owner = owner_of(view);
  if (owner == 0) return;
  std::atomic<uint64_t>& known = slot(owner);
  if (known.load(std::memory_order_relaxed) >> 24 == owner >> 8) known.store(0, std::memory_order_relaxed);
}

}  // namespace tensorscope::tensor_values
