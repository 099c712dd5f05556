// SPDX-License-Identifier: Apache-2.0
#include "tensor_values/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tensorscope/rules/dtypes.h"

namespace tensorscope::tensor_values {

using enum rules::Dtype;
namespace {

template <typename T>
bool any_in(const std::vector<T>& data, int dtype, int parts = 1) {
  const std::vector<int64_t> sizes = {int64_t(data.size()) / parts}, strides = {1};
  TensorView view;
  view.data = data.data();
  view.sizes = sizes.data();
  view.strides = strides.data();
  view.numel = sizes[0];
  view.ndim = 1;
  view.dtype = dtype;
  view.itemsize = int(sizeof(T)) * parts;
  view.contiguous = true;
  return any_not_finite(view);
}

TEST(Finite, one_bad_element_is_found_at_every_place_and_length) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    for (size_t length : {1, 7, 8, 15, 16, 17, 31, 33, 64, 2047, 2048, 2049, 5000}) {
      std::vector<float> data(length, std::numeric_limits<float>::max());
      EXPECT_FALSE(any_in(data, kFloat32)) << length;
      const size_t stride = length > 100 ? 97 : 1;
      for (size_t at = 0; at < length; at += stride) {
        data[at] = bad;
        EXPECT_TRUE(any_in(data, kFloat32)) << length << " at " << at;
        data[at] = -1;
      }
      data[length - 1] = bad;
      EXPECT_TRUE(any_in(data, kFloat32)) << length;
    }
  }
}

TEST(Finite, each_dtype_by_its_bits) {
  EXPECT_FALSE(any_in<double>({0, -1e308, 5e-324}, kFloat64));
  EXPECT_TRUE(any_in<double>({0, std::nan("")}, kFloat64));
  EXPECT_FALSE(any_in<uint16_t>({0x7bff, 0x8001, 0x0000}, kFloat16));
  EXPECT_TRUE(any_in<uint16_t>({0x7c00}, kFloat16));
  EXPECT_TRUE(any_in<uint16_t>({0xfe00}, kFloat16));
  EXPECT_FALSE(any_in<uint16_t>({0x7f7f, 0x7c00}, kBfloat16));
  EXPECT_TRUE(any_in<uint16_t>({0xff80}, kBfloat16));
  EXPECT_TRUE(any_in<uint8_t>({0x7c}, kFloat8E5M2));
  EXPECT_FALSE(any_in<uint8_t>({0x7b, 0x7e}, kFloat8E4M3));
  EXPECT_TRUE(any_in<uint8_t>({0xff}, kFloat8E4M3));
  EXPECT_FALSE(any_in<uint8_t>({0x7f, 0xff}, kFloat8E5M2Fnuz));
  EXPECT_TRUE(any_in<uint8_t>({0x80}, kFloat8E4M3Fnuz));
  EXPECT_TRUE(any_in<float>({0, 1, 2, INFINITY}, kComplex64, 2));
  EXPECT_FALSE(any_in<float>({0, 1, 2, 3}, kComplex64, 2));
  EXPECT_FALSE(any_in<int32_t>({0x7f800000}, kInt32));
  EXPECT_FALSE(can_be_not_finite(kBool));
}

TEST(Finite, the_bound_is_the_next_power_of_two) {
  const auto power_in = [](const auto& data, int dtype) {
    const int64_t size = int64_t(data.size()), stride = 1;
    TensorView view;
    view.data = data.data();
    view.sizes = &size;
    view.strides = &stride;
    view.numel = size;
    view.ndim = 1;
    view.dtype = dtype;
    view.itemsize = int(sizeof data[0]);
    view.contiguous = true;
    Power power;
    return any_not_finite(view, power) ? Power(-1000) : power;
  };
  for (size_t length : {1, 9, 16, 33, 5000}) {
    std::vector<float> data(length, -0.25f);
    EXPECT_EQ(power_in(data, kFloat32), -1);
    data[length / 2] = -7;
    EXPECT_EQ(power_in(data, kFloat32), 3);
    data[length - 1] = std::numeric_limits<float>::max();
    EXPECT_EQ(power_in(data, kFloat32), 128);
    data[0] = NAN;
    EXPECT_EQ(power_in(data, kFloat32), -1000);
  }
  EXPECT_EQ(power_in(std::vector<double>{0, -1}, kFloat64), 1);
  EXPECT_EQ(power_in(std::vector<double>(100, 0.0), kFloat64), -1022);
  EXPECT_EQ(power_in(std::vector<uint16_t>{0x3c00, 0xbc00}, kFloat16), 1);
  EXPECT_EQ(power_in(std::vector<uint16_t>{0x7bff}, kFloat16), 16);
  EXPECT_EQ(power_in(std::vector<uint16_t>{0x3f80}, kBfloat16), 1);
  EXPECT_EQ(power_in(std::vector<uint8_t>{1}, kFloat8E5M2), kNoPower);
  EXPECT_EQ(power_in(std::vector<int32_t>{1}, kInt32), kNoPower);
}

TEST(Finite, elements_that_a_view_leaves_out_do_not_count) {
  std::vector<float> data = {1, NAN, 2, NAN, 3, NAN};
  const std::vector<int64_t> sizes = {3}, strides = {2};
  TensorView view;
  view.data = data.data();
  view.sizes = sizes.data();
  view.strides = strides.data();
  view.numel = 3;
  view.ndim = 1;
  view.dtype = kFloat32;
  view.itemsize = sizeof(float);
  EXPECT_FALSE(any_not_finite(view));
  view.data = data.data() + 1;
  EXPECT_TRUE(any_not_finite(view));
  const std::vector<int64_t> square = {2, 3}, transposed = {1, 2};
  view.data = data.data();
  view.sizes = square.data();
  view.strides = transposed.data();
  view.numel = 6;
  view.ndim = 2;
  EXPECT_TRUE(any_not_finite(view));
  for (float& x : data) x = 0;
  EXPECT_FALSE(any_not_finite(view));
}

}  // namespace
}  // namespace tensorscope::tensor_values
