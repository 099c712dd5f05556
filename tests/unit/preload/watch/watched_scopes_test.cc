// SPDX-License-Identifier: Apache-2.0
#include "watch/watched_scopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::watch {
namespace {

using ::testing::UnorderedElementsAre;

class WatchedScopesTest : public ::testing::Test {
 protected:
  WatchedModule module(uint32_t number, std::vector<uint32_t> operations, std::vector<uint32_t> not_operations = {}) {
    WatchedModule made;
    made.path = "model." + std::to_string(number);
    made.path_id = number;
    made.operations = std::move(operations);
    made.not_operations = std::move(not_operations);
    return made;
  }

  const std::vector<rules::WatchSpec> watches_ = [] {
    std::vector<rules::WatchSpec> watches(4);
    for (rules::WatchSpec& watch : watches) watch.pattern = {"**"};
    return watches;
  }();
  ModulePaths paths_{watches_};
  WatchedScopes scopes_{paths_};
};

TEST_F(WatchedScopesTest, nothing_is_watched_without_a_watch) {
  EXPECT_EQ(scopes_.within(nullptr, module(1, {})), nullptr);
  EXPECT_FALSE(paths_.matched(0));
}

TEST_F(WatchedScopesTest, a_call_has_the_watches_of_the_call_around_it_and_its_own) {
  const WatchedScope* outer = scopes_.within(nullptr, module(1, {0, 1}));
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer->path, "model.1");
  const WatchedScope* inner = scopes_.within(outer, module(2, {1, 2}));
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->module, 2u);
  EXPECT_THAT(inner->watches, UnorderedElementsAre(0, 1, 2));
  EXPECT_TRUE(paths_.matched(0) && paths_.matched(1) && paths_.matched(2));
  EXPECT_FALSE(paths_.matched(3));
}

TEST_F(WatchedScopesTest, a_module_leaves_out_the_watches_that_exclude_it) {
  const WatchedScope* outer = scopes_.within(nullptr, module(1, {0, 1}));
  EXPECT_THAT(scopes_.within(outer, module(2, {}, {0}))->watches, UnorderedElementsAre(1));
  EXPECT_EQ(scopes_.within(outer, module(3, {}, {0, 1})), nullptr);
}

// Backward passes keep the address.
TEST_F(WatchedScopesTest, a_module_has_one_scope_for_the_same_watches) {
  const WatchedScope* outer = scopes_.within(nullptr, module(1, {0}));
  const WatchedScope* inner = scopes_.within(outer, module(2, {1}));
  EXPECT_EQ(scopes_.within(nullptr, module(1, {0})), outer);
  EXPECT_EQ(scopes_.within(outer, module(2, {1})), inner);
  EXPECT_NE(scopes_.within(nullptr, module(2, {1})), inner);
}

}  // namespace
}  // namespace tensorscope::watch
