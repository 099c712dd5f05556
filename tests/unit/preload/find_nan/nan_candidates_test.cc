// SPDX-License-Identifier: Apache-2.0
#include "find_nan/nan_candidates.h"

#include <gtest/gtest.h>

#include <memory>

#include "support/fresh_in_child.h"

namespace tensorscope::find_nan {
namespace {

class Possibles : public testing::Test {
 protected:
  uint8_t add(bool nan, const void* node = nullptr) {
    return findings->add(this, node, [&](Finding& out) {
      out = {};
      out.nan = nan;
    });
  }
  static void describe_nan(Finding& out) {
    out = {};
    out.nan = true;
  }
  std::unique_ptr<NanCandidates> findings = std::make_unique<NanCandidates>();
  int node = 0, other_node = 0;
};

TEST_F(Possibles, the_first_is_said_where_its_operation_leaves_it) {
  EXPECT_NE(add(true), 0);
  EXPECT_TRUE(findings->any_open());
  int other_thread;
  EXPECT_FALSE(findings->settle(&other_thread, true)) << "of another thread";
  EXPECT_TRUE(findings->settle(this, true));
  EXPECT_TRUE(findings->pending().nan);
  EXPECT_FALSE(findings->any_open());
  EXPECT_TRUE(findings->all_reported());
}

TEST_F(Possibles, what_an_operation_replaces_is_none) {
  add(true);
  EXPECT_FALSE(findings->settle(this, false));
  EXPECT_FALSE(findings->any_open());
  findings->drop_within(add(true));
  EXPECT_FALSE(findings->settle(this, true));
  EXPECT_FALSE(findings->all_reported());
  EXPECT_EQ(findings->later(), 0u);
}

TEST_F(Possibles, after_an_infinity_the_first_nan_is_said_too) {
  add(false);
  EXPECT_TRUE(findings->settle(this, true));
  findings->mark_reported();
  add(false);
  EXPECT_FALSE(findings->settle(this, true)) << "a second infinity";
  add(true);
  EXPECT_TRUE(findings->settle(this, true));
  EXPECT_TRUE(findings->infinity_reported() && findings->nan_reported());
  findings->mark_reported();
  add(true);
  EXPECT_FALSE(findings->settle(this, true));
  EXPECT_EQ(findings->later(), 2u);
}

TEST_F(Possibles, while_one_is_being_said_others_are_counted) {
  add(false);
  EXPECT_TRUE(findings->settle(this, true));
  add(true);
  EXPECT_FALSE(findings->settle(this, true));
  EXPECT_EQ(findings->later(), 1u);
}

TEST_F(Possibles, in_a_backward_pass_another_node_decides) {
  const uint8_t origin = add(true, &node);
  EXPECT_FALSE(findings->settle(this, true));
  EXPECT_FALSE(findings->waits_for_node(origin, &node));
  EXPECT_TRUE(findings->waits_for_node(origin, &other_node));
  EXPECT_TRUE(findings->end_node(origin, false));
  EXPECT_FALSE(findings->end_node(origin, false)) << "once";
}

TEST_F(Possibles, an_expected_overflow_is_held_until_parameters_change) {
  const uint8_t origin = add(false, &node);
  findings->settle(this, true);
  EXPECT_FALSE(findings->end_node(origin, true));
  EXPECT_TRUE(findings->any_open());
  EXPECT_TRUE(findings->confirm_held());
  EXPECT_TRUE(findings->pending().held);
  findings->mark_reported();

  const uint8_t skipped = add(true, &node);
  findings->settle(this, true);
  findings->end_node(skipped, true);
  findings->drop_backward();
  EXPECT_FALSE(findings->confirm_held());
  EXPECT_FALSE(findings->nan_reported());
}

TEST_F(Possibles, where_there_is_no_room_a_forgotten_node_gives_way) {
  for (int i = 0; i < 8; ++i) EXPECT_NE(add(true), 0);
  EXPECT_EQ(add(true), 0);
  findings->settle(this, false);
  for (int i = 0; i < 8; ++i) {
    EXPECT_NE(add(true, &node), 0);
    findings->settle(this, true);
  }
  EXPECT_NE(add(true), 0);
}

TEST_F(Possibles, closed_says_no_more) {
  EXPECT_TRUE(findings->close());
  EXPECT_FALSE(findings->close());
  EXPECT_FALSE(findings->confirm_at_once(describe_nan));
  EXPECT_EQ(findings->later(), 1u);
}

TEST_F(Possibles, made_anew_in_a_forked_child_nothing_of_the_parents_is_left) {
  EXPECT_TRUE(findings->confirm_at_once(describe_nan));
  add(true);
  findings->count_unreported();
  make_anew(*findings);
  EXPECT_FALSE(findings->any_open() || findings->nan_reported() || findings->all_reported());
  EXPECT_EQ(findings->later(), 0u);
}

}  // namespace
}  // namespace tensorscope::find_nan
