// SPDX-License-Identifier: Apache-2.0
// What print() shows of the same tensors in torch 2.13: python tests/unit/analyzer/text/values/element_texts.py writes
// it anew.
#include "text/values/elements.h"

#include <gtest/gtest.h>

#include "text/values/element_texts.h"

namespace tensorscope::text {
namespace {

class ElementText : public ::testing::TestWithParam<PrintedTensor> {};

TEST_P(ElementText, IsWhatTorchPrints) {
  const PrintedTensor& tensor = GetParam();
  std::string bytes;
  for (size_t i = 0; tensor.hex[i] != 0; i += 2) bytes += char(std::stoi(std::string(tensor.hex + i, 2), nullptr, 16));
  const std::string once = bytes;
  for (size_t times = 1; times < tensor.repeat; ++times) bytes += once;
  EXPECT_EQ(tensor_text({tensor.dtype, tensor.shape, bytes}, {0, -1}), tensor.printed);
}

INSTANTIATE_TEST_SUITE_P(Torch, ElementText, ::testing::ValuesIn(kPrintedTensors));

TEST(ElementText, TheDeviceIsSaidUnlessItIsTheCpu) {
  const float one = 1;
  const std::string bytes(reinterpret_cast<const char*>(&one), sizeof one);
  EXPECT_EQ(tensor_text({6, {}, bytes}, {1, 0}), "tensor(1., device='cuda:0')");
}

TEST(ElementText, BytesOfAnUnknownDtypeAreCounted) {
  EXPECT_EQ(tensor_text({12, {4}, "abcd"}, {0, -1}), "4 B of qint8");
}

}  // namespace
}  // namespace tensorscope::text
