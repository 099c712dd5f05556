// SPDX-License-Identifier: Apache-2.0
#include "values/element_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tensorscope::values {
namespace {

template <typename T>
double real(int dtype, T bits) {
  return real_of(dtype, &bits, 0);
}

TEST(ElementType, FloatsOfEveryWidthAreTheNumbersThatTorchSays) {
  EXPECT_EQ(real<uint16_t>(kFloat16, 0x3c00), 1);
  EXPECT_EQ(real<uint16_t>(kFloat16, 0xc248), -3.140625);
  EXPECT_EQ(real<uint16_t>(kFloat16, 0x0001), std::ldexp(1, -24));
  EXPECT_EQ(real<uint16_t>(kFloat16, 0xfc00), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(real<uint16_t>(kFloat16, 0x7e00)));
  EXPECT_EQ(real<uint16_t>(kBfloat16, 0x4049), 3.140625);
  EXPECT_EQ(real<float>(kFloat32, 0.1f), double(0.1f));
  EXPECT_EQ(real<double>(kFloat64, 0.1), 0.1);
}

// torch.tensor([bits], dtype=torch.uint8).view(torch.float8_...).double()
TEST(ElementType, Float8) {
  EXPECT_EQ(real<uint8_t>(kFloat8E5M2, 0x3e), 1.5);
  EXPECT_EQ(real<uint8_t>(kFloat8E5M2, 0x7b), 57344);
  EXPECT_EQ(real<uint8_t>(kFloat8E5M2, 0x7c), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real<uint8_t>(kFloat8E4M3, 0x7e), 448);
  EXPECT_TRUE(std::isnan(real<uint8_t>(kFloat8E4M3, 0xff)));
  EXPECT_EQ(real<uint8_t>(kFloat8E4M3, 0x01), std::ldexp(1, -9));
  EXPECT_EQ(real<uint8_t>(kFloat8E4M3Fnuz, 0x7f), 240);
  EXPECT_TRUE(std::isnan(real<uint8_t>(kFloat8E4M3Fnuz, 0x80)));
  EXPECT_EQ(real<uint8_t>(kFloat8E5M2Fnuz, 0x7f), 57344);
  EXPECT_EQ(real<uint8_t>(kFloat8E8M0, 130), 8);
  EXPECT_TRUE(std::isnan(real<uint8_t>(kFloat8E8M0, 255)));
}

TEST(ElementType, IntegersAndComplexNumbers) {
  const int16_t shorts[] = {1, -2};
  EXPECT_EQ(integer_of(kInt16, shorts, 1), -2);
  EXPECT_EQ(real_of(kInt16, shorts, 1), -2);
  const uint64_t large = UINT64_MAX;
  EXPECT_EQ(uint64_t(integer_of(kUint64, &large, 0)), UINT64_MAX);
  EXPECT_EQ(real_of(kUint64, &large, 0), 18446744073709551616.0);
  const float pairs[] = {1, 2, 3, 4};
  EXPECT_EQ(real_of(kComplex64, pairs, 1), 3);
  EXPECT_EQ(imaginary_of(kComplex64, pairs, 1), 4);
  EXPECT_EQ(imaginary_of(kFloat32, pairs, 1), 0);
  const uint8_t flag = 255;
  EXPECT_EQ(integer_of(kBool, &flag, 0), 1);
}

TEST(ElementType, SizesAndKinds) {
  EXPECT_EQ(element_size(kComplex128), 16u);
  EXPECT_EQ(element_size(kFloat8E8M0), 1u);
  EXPECT_EQ(element_size(-1), 0u);
  EXPECT_EQ(element_size(12), 0u);  // qint8
  EXPECT_TRUE(is_floating(kBfloat16) && is_floating(kFloat8E5M2Fnuz) && !is_floating(kComplex64) &&
              !is_floating(kBool));
  EXPECT_TRUE(is_unsigned_integer(kUint8) && is_unsigned_integer(kUint64) && !is_unsigned_integer(kBool));
  EXPECT_TRUE(is_signed_integer(kInt8) && is_signed_integer(kInt64) && !is_signed_integer(kUint8));
}

TEST(ElementType, ProductsOfSizes) {
  EXPECT_EQ(element_count({}), 1u);
  EXPECT_EQ(element_count({3, 0, 5}), 0u);
  EXPECT_EQ(element_count({3, 5}), 15u);
  EXPECT_EQ(element_count({int64_t{1} << 40, int64_t{1} << 40}), UINT64_MAX);
  EXPECT_EQ(element_count({int64_t{1} << 40, int64_t{1} << 40, 0}), 0u);
}

}  // namespace
}  // namespace tensorscope::values
