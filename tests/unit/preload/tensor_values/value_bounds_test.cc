// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/value_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "live/allocation_table.h"
#include "live/tracker.h"
#include "tensorscope/rules/dtypes.h"
#include "torch_events/operation_kinds.h"

namespace tensorscope::tensor_values {

using enum rules::Dtype;
namespace {

BoundArgument tensor(int position, Power power) { return {position, false, 0, power}; }
BoundArgument number(int position, double value) { return {position, true, value, kNoPower}; }

Power bound(const char* name, const std::vector<BoundArgument>& arguments, int dtype = kFloat32) {
  return bound_of_result(torch_events::kind_of_name(name).bound, dtype, arguments.data(), arguments.size());
}

Power power_of(float x) {
  int exponent = 0;
  std::frexp(x, &exponent);
  return Power(exponent);
}

// Operations as torch computes them, in float32; each with two arguments of which one may be left out.
struct Case {
  const char* name;
  std::function<float(float, float)> compute;
  std::function<std::vector<BoundArgument>(float, float)> arguments;
};

const std::vector<Case>& cases() {
  const auto both = [](float a, float b) {
    return std::vector<BoundArgument>{tensor(0, power_of(a)), tensor(1, power_of(b))};
  };
  const auto one = [](float a, float) { return std::vector<BoundArgument>{tensor(0, power_of(a))}; };
  static const std::vector<Case> all = {
      {"aten::mul", [](float a, float b) { return a * b; }, both},
      {"aten::mul_", [](float a, float b) { return a * b; },
       [](float a, float b) {
         return std::vector{tensor(0, power_of(a)), number(1, b)};
       }},
      {"aten::add", [](float a, float b) { return a + b * 3.5f; },
       [](float a, float b) {
         return std::vector{tensor(0, power_of(a)), tensor(1, power_of(b)), number(2, 3.5)};
       }},
      {"aten::sub", [](float a, float b) { return a - b; },
       [](float a, float b) {
         return std::vector{tensor(0, power_of(a)), number(1, b), number(2, 1)};
       }},
      {"aten::div", [](float a, float b) { return a * (1 / b); },
       [](float a, float b) {
         return std::vector{tensor(0, power_of(a)), number(1, b)};
       }},
      {"aten::div", [](float a, float b) { return std::floor(a / b); },
       [](float a, float b) {
         return std::vector{tensor(0, power_of(a)), number(1, b)};
       }},
      {"aten::pow", [](float a, float) { return a * a * a; },
       [](float a, float) {
         return std::vector{tensor(0, power_of(a)), number(1, 3)};
       }},
      {"aten::square", [](float a, float) { return a * a; }, one},
      {"aten::neg", [](float a, float) { return -a; }, one},
      {"aten::gelu", [](float a, float) { return a * 0.5f * (1 + std::erf(a * float(M_SQRT1_2))); }, one},
      {"aten::silu", [](float a, float) { return a / (1 + std::exp(-a)); }, one},
      {"aten::tanh", [](float a, float) { return std::tanh(a); }, one},
      {"aten::tanh_backward", [](float a, float b) { return a * (1 - b * b); }, both},
      {"aten::gelu_backward",
       [](float a, float b) {
         const float cube = b * b * b, inner = 0.79788456f * (b + 0.044715f * cube), t = std::tanh(inner);
         const float derivative = 0.79788456f * (1 + 3 * 0.044715f * b * b);
         return a * (0.5f * (1 + t) + 0.5f * b * (1 - t * t) * derivative);
       },
       both},
      {"aten::silu_backward",
       [](float a, float b) {
         const float s = 1 / (1 + std::exp(-b));
         return a * s * (1 + b * (1 - s));
       },
       both},
  };
  return all;
}

TEST(ValueBounds, no_result_is_above_its_bound) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-126, 127), small(-12, 12);
  size_t known = 0;
  for (int i = 0; i < 200'000; ++i) {
    const bool wide = i % 2 == 0;
    const float a = std::ldexp(mantissa(random), wide ? exponent(random) : small(random));
    const float b = std::ldexp(mantissa(random), wide ? exponent(random) : small(random));
    for (const Case& c : cases()) {
      const Power power = bound(c.name, c.arguments(a, b));
      if (power == kNoPower) continue;
      ++known;
      const float result = c.compute(a, b);
      ASSERT_TRUE(std::isfinite(result)) << c.name << " " << a << " " << b;
      ASSERT_LE(std::fabs(double(result)), std::ldexp(1.0, power)) << c.name << " " << a << " " << b;
    }
  }
  EXPECT_GT(known, 1'000'000u);
}

TEST(ValueBounds, what_may_leave_the_dtypes_numbers_has_none) {
  EXPECT_EQ(bound("aten::mul", {tensor(0, 63), tensor(1, 64)}), 127);
  EXPECT_EQ(bound("aten::mul", {tensor(0, 64), tensor(1, 64)}), kNoPower);
  EXPECT_EQ(bound("aten::mul", {tensor(0, 7), tensor(1, 8)}, kFloat16), 15);
  EXPECT_EQ(bound("aten::mul", {tensor(0, 8), tensor(1, 8)}, kFloat16), kNoPower);
  EXPECT_EQ(bound("aten::mul", {tensor(0, 64), tensor(1, 64)}, kFloat64), 128);
  EXPECT_EQ(bound("aten::mul", {tensor(0, 64), tensor(1, 63)}, kBfloat16), 127);
  EXPECT_EQ(bound("aten::mul", {tensor(0, 1), tensor(1, 1)}, kInt32), kNoPower);
  EXPECT_EQ(bound("aten::add", {tensor(0, 127), tensor(1, 0), number(2, 1)}), kNoPower);
  EXPECT_EQ(bound("aten::add", {tensor(0, 126), tensor(1, 100), number(2, 0.5)}), 127);
}

TEST(ValueBounds, what_is_not_known_of_an_argument_is_not_known_of_the_result) {
  EXPECT_EQ(bound("aten::mul", {tensor(0, 1), tensor(1, kNoPower)}), kNoPower);
  EXPECT_EQ(bound("aten::mul", {tensor(0, 1)}), kNoPower);
  EXPECT_EQ(bound("aten::mul", {tensor(0, 1), number(1, INFINITY)}), kNoPower);
  EXPECT_EQ(bound("aten::add", {tensor(0, 1), tensor(1, 1)}), kNoPower) << "alpha";
  EXPECT_EQ(bound("aten::add", {tensor(0, 1), tensor(1, 1), number(2, NAN)}), kNoPower);
  EXPECT_EQ(bound("aten::_softmax", {tensor(0, kNoPower), number(1, 1)}), kNoPower);
  EXPECT_EQ(bound("aten::_softmax", {tensor(0, 40), number(1, 1)}), 1);
  EXPECT_EQ(bound("aten::bernoulli_", {tensor(0, kNoPower), number(1, 0.1)}), 0);
  EXPECT_EQ(bound("aten::cat", {tensor(0, 3), tensor(0, 5), number(1, 0)}), kNoPower) << "not listed";
  EXPECT_EQ(bound("aten::clone", {tensor(0, 3)}), 3);
  EXPECT_EQ(bound("aten::clone", {tensor(0, kNoPower)}), kNoPower);
  EXPECT_EQ(bound("aten::clone", {}), kNoPower);
  EXPECT_EQ(bound("aten::pow", {tensor(0, 1), number(1, 0.5)}), kNoPower) << "of a negative number it is NaN";
  EXPECT_EQ(bound("aten::pow", {tensor(0, 1), number(1, -1)}), kNoPower);
  EXPECT_EQ(bound("aten::div", {tensor(0, 1), number(1, 0)}), kNoPower);
  EXPECT_EQ(bound("aten::div", {tensor(0, 1), tensor(1, 1)}), kNoPower);
  EXPECT_EQ(bound("aten::_foreach_mul_", {tensor(0, 1), tensor(0, 1), number(1, 2)}), kNoPower);
  EXPECT_EQ(bound("mine::mul", {tensor(0, 1), tensor(1, 1)}), kNoPower);
}

class Kept : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(live::start()); }

  // An allocation of the CPU's allocator, at this address.
  TensorView allocated(uintptr_t address, int dtype = kFloat32) {
    const void* pointer = reinterpret_cast<const void*>(address);
    live::g_allocations.add({pointer, 1 << 20, live::AllocationKind::heap, live::DeviceTable::kCpu, 0}, {});
    TensorView view;
    view.storage_data = pointer;
    view.dtype = dtype;
    return view;
  }
  void freed(const TensorView& view) {
    live::g_allocations.remove(view.storage_data, live::AllocationKind::heap, live::DeviceTable::kCpu);
  }
  std::unique_ptr<ValueBounds> bounds = std::make_unique<ValueBounds>();
};

TEST_F(Kept, until_the_memory_is_freed) {
  const TensorView view = allocated(0x10000);
  EXPECT_EQ(bounds->get(view), kNoPower);
  bounds->set(view, 5);
  EXPECT_EQ(bounds->get(view), 5);
  freed(view);
  EXPECT_EQ(bounds->get(view), kNoPower);
  EXPECT_EQ(bounds->get(allocated(0x10000)), kNoPower) << "other memory at the same address";
}

TEST_F(Kept, widened_by_what_writes_a_part) {
  const TensorView view = allocated(0x20000);
  bounds->widen(view, 5);
  EXPECT_EQ(bounds->get(view), kNoPower) << "of the rest nothing is known";
  bounds->set(view, -3);
  bounds->widen(view, -9);
  EXPECT_EQ(bounds->get(view), -3);
  bounds->widen(view, 7);
  EXPECT_EQ(bounds->get(view), 7);
  bounds->widen(view, kNoPower);
  EXPECT_EQ(bounds->get(view), kNoPower);
}

TEST_F(Kept, not_for_the_same_bits_as_another_dtype) {
  TensorView view = allocated(0x30000);
  bounds->set(view, 5);
  TensorView other = view;
  other.dtype = kBfloat16;
  EXPECT_EQ(bounds->get(other), kNoPower);
  bounds->forget(other);
  EXPECT_EQ(bounds->get(view), kNoPower);
}

TEST_F(Kept, memory_that_no_allocator_of_torch_gave_has_none) {
  TensorView view;
  view.storage_data = reinterpret_cast<const void*>(0x40000);
  view.dtype = kFloat32;
  bounds->set(view, 5);
  EXPECT_EQ(bounds->get(view), kNoPower);
}

}  // namespace
}  // namespace tensorscope::tensor_values
