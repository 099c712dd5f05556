// SPDX-License-Identifier: Apache-2.0
#include "autograd/autocast_rules.h"

#include <gtest/gtest.h>

namespace tensorscope::analyzer {
namespace {

TEST(AutocastRules, ByOperation) {
  EXPECT_EQ(cast_rule("linear", true), CastRule::lower);
  EXPECT_EQ(cast_rule("scaled_dot_product_attention", false), CastRule::lower);
  EXPECT_EQ(cast_rule("softmax", false), CastRule::float32);
  EXPECT_EQ(cast_rule("softmax", true), CastRule::follows);
  EXPECT_EQ(cast_rule("mse_loss", true), CastRule::float32);
  EXPECT_EQ(cast_rule("upsample_nearest2d", false), CastRule::float32);
  EXPECT_EQ(cast_rule("lstm_cell", true), CastRule::follows);
  EXPECT_EQ(cast_rule("add", false), CastRule::follows);
}

TEST(AutocastRules, ByNode) {
  EXPECT_EQ(cast_rule_of_node("AddmmBackward0", false), CastRule::lower);
  EXPECT_EQ(cast_rule_of_node("ScaledDotProductEfficientAttentionBackward0", false), CastRule::lower);
  EXPECT_EQ(cast_rule_of_node("NllLoss2DBackward0", false), CastRule::float32);
  EXPECT_EQ(cast_rule_of_node("NativeLayerNormBackward0", false), CastRule::float32);
  EXPECT_EQ(cast_rule_of_node("NativeLayerNormBackward0", true), CastRule::follows);
  EXPECT_EQ(cast_rule_of_node("Log1PBackward0", false), CastRule::float32);
  EXPECT_EQ(cast_rule_of_node("MulBackward0", false), CastRule::follows);
  EXPECT_EQ(cast_rule_of_node("", false), CastRule::follows);
}

TEST(AutocastRules, OfABackwardPassToo) {
  EXPECT_TRUE(computes_float32("_log_softmax_backward_data", false));
  EXPECT_TRUE(computes_float32("nll_loss_backward", true));
  EXPECT_FALSE(computes_float32("_log_softmax_backward_data", true));
  EXPECT_FALSE(computes_float32("mm", false));
}

}  // namespace
}  // namespace tensorscope::analyzer
