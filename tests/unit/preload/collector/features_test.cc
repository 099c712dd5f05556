// SPDX-License-Identifier: Apache-2.0
// Covers: preload/hooks/features.cc preload/collector/wake.cc
#include "collector/features.h"

#include <gtest/gtest.h>

#include <string>

#include "hooks/features.h"
#include "tensorscope/rules/request_name.h"

namespace tensorscope::collector {
namespace {

std::string g_called;
bool g_waits = false;

constexpr Feature kFirst = {
    .flush = [] { g_called += "first flush;"; },
    .flush_interval_ms = [] { return uint64_t{300}; },
    .after_fork_in_child = [] { g_called += "first child;"; },
    .commands = {{"one", [] { g_called += "one;"; }}},
};
constexpr Feature kSecond = {
    .flush = [] { g_called += "second flush;"; },
    .flush_interval_ms = [] { return uint64_t{200}; },
    .waits_for_torch = [] { return g_waits; },
    .look_for_torch = [] { g_called += "second looks;"; },
    .commands = {{"two", [] { g_called += "two;"; }, true}, {"three", [] {}}},
};

// One list a process, which only grows: one test.
TEST(Features, AreServedInTheirOrder) {
  EXPECT_EQ(flush_interval_of_features_ms(), UINT64_MAX);
  add_feature(kFirst);
  add_feature(kSecond);
  flush_features();
  features_before_dump();  // which none of them wants
  features_after_fork_in_child();
  EXPECT_EQ(g_called, "first flush;second flush;first child;");
  EXPECT_EQ(flush_interval_of_features_ms(), 200u);

  g_called = "";
  EXPECT_FALSE(any_feature_waits_for_torch());
  features_look_for_torch();
  EXPECT_EQ(g_called, "");
  g_waits = true;
  EXPECT_TRUE(any_feature_waits_for_torch());
  features_look_for_torch();
  EXPECT_EQ(g_called, "second looks;");

  g_called = "";
  ASSERT_NE(find_command("two"), nullptr);
  EXPECT_TRUE(find_command("two")->refused_while_stopped);
  find_command("two")->run();
  ASSERT_NE(find_command("one"), nullptr);
  EXPECT_FALSE(find_command("one")->refused_while_stopped);
  EXPECT_EQ(find_command("four"), nullptr);
  EXPECT_EQ(g_called, "two;");

  hooks::add_features();
  using namespace rules;
  for (const char* text : {kRequestStop, kRequestStopValues, kRequestStartValues, kRequestRecord, kRequestNoRecord}) {
    EXPECT_NE(find_command(text), nullptr) << text;
  }
}

}  // namespace
}  // namespace tensorscope::collector
