// SPDX-License-Identifier: Apache-2.0
#include "torch_events/operation_kinds.h"

#include <gtest/gtest.h>

#include <string>

namespace tensorscope::torch_events {
namespace {

TEST(OperationKinds, by_name) {
  EXPECT_EQ(kind_of_name("aten::log").origin, ValueOrigin::computed);
  EXPECT_FALSE(kind_of_name("aten::log").writes);
  EXPECT_TRUE(kind_of_name("aten::log_").writes);
  EXPECT_FALSE(kind_of_name("aten::log_").replaces);
  EXPECT_EQ(kind_of_name("aten::zeros").origin, ValueOrigin::finite);
  EXPECT_TRUE(kind_of_name("aten::zero_").replaces);
  EXPECT_TRUE(kind_of_name("aten::copy_").replaces);
  EXPECT_TRUE(kind_of_name("aten::_foreach_copy_").replaces);
  EXPECT_EQ(kind_of_name("aten::cat").origin, ValueOrigin::copied);
  EXPECT_EQ(kind_of_name("aten::masked_fill_").origin, ValueOrigin::filled);
  EXPECT_EQ(kind_of_name("aten::empty").origin, ValueOrigin::uninitialised);
  EXPECT_EQ(kind_of_name("aten::lift_fresh").origin, ValueOrigin::external);
  EXPECT_EQ(kind_of_name("aten::set_").origin, ValueOrigin::external);
  EXPECT_EQ(kind_of_name("aten::detach_").origin, ValueOrigin::nothing);
  EXPECT_FALSE(kind_of_name("aten::__and__").writes);
  EXPECT_EQ(kind_of_name("mine::zeros_of_mine").origin, ValueOrigin::computed);
  EXPECT_TRUE(kind_of_name("aten::_amp_foreach_non_finite_check_and_unscale_").checks_scale);
  EXPECT_TRUE(kind_of_name("aten::_amp_update_scale_").updates_scale);
}

TEST(OperationKinds, another_text_at_the_same_address_is_another_operation) {
  std::string name = "aten::zeros";
  EXPECT_EQ(kind_of(name.c_str()).origin, ValueOrigin::finite);
  name.replace(6, 5, "empty");
  EXPECT_EQ(kind_of(name.c_str()).origin, ValueOrigin::uninitialised);
  name.replace(6, 5, "zeros");
  EXPECT_EQ(kind_of(name.c_str()).origin, ValueOrigin::finite);
}

}  // namespace
}  // namespace tensorscope::torch_events
