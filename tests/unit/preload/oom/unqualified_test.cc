// SPDX-License-Identifier: Apache-2.0
#include "oom/unqualified.h"

#include <gtest/gtest.h>

namespace tensorscope::oom {
namespace {

TEST(Unqualified, ClassNames) {
  EXPECT_EQ(unqualified("N5torch8autograd9generated13ReluBackward0E"), "ReluBackward0");
  EXPECT_EQ(unqualified("4Node"), "Node");
  EXPECT_EQ(unqualified(""), "");
  EXPECT_EQ(unqualified("N5torchE"), "torch");
  EXPECT_EQ(unqualified("N99torchE"), "");
}

}  // namespace
}  // namespace tensorscope::oom
