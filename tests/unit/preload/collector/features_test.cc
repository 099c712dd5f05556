// SPDX-License-Identifier: Apache-2.0
// Covers: preload/hooks/features.cc preload/collector/wake.cc
#include "collector/features.h"

#include <gtest/gtest.h>

#include <string>

#include "dump/process_chunks.h"
#include "hooks/features.h"
#include "tensorscope/rules/request_name.h"

namespace tensorscope::collector {
namespace {

std::string g_called;
bool g_waits = false;

constexpr Feature kFirst = {
    .begin = [] { g_called += "first begins;"; },
    .flush = [] { g_called += "first flush;"; },
    .flush_interval_ms = [] { return uint64_t{300}; },
    .describe = [](dump::DumpFacts& facts) { facts.step = 7; },
    .look_for_torch = [] { g_called += "first looks;"; },  // and never waits
    .after_fork_in_child = [] { g_called += "first child;"; },
    .commands = {{"one", [] { g_called += "one;"; }}},
};
constexpr Feature kSecond = {
    .flush = [] { g_called += "second flush;"; },
    .flush_interval_ms = [] { return uint64_t{200}; },
    .waits_for_torch = [] { return g_waits; },
    .look_for_torch = [] { g_called += "second looks;"; },
    .commands = {{"two", [] { g_called += "two;"; }, true, [] { return g_called == "two;"; }}, {"three", [] {}}},
};

// One list a process, which only grows: one test.
TEST(Features, AreServedInTheirOrder) {
  EXPECT_EQ(flush_interval_of_features_ms(), UINT64_MAX);
  add_feature(kFirst);
  add_feature(kSecond);
  begin_features();
  flush_features();
  features_before_dump();  // which none of them wants
  features_after_fork_in_child();
  EXPECT_EQ(g_called, "first begins;first flush;second flush;first child;");
  EXPECT_EQ(flush_interval_of_features_ms(), 200u);

  g_called = "";
  EXPECT_FALSE(any_feature_waits_for_torch());
  features_look_for_torch();
  EXPECT_EQ(g_called, "first looks;");
  g_waits = true;
  EXPECT_TRUE(any_feature_waits_for_torch());
  features_look_for_torch();
  EXPECT_EQ(g_called, "first looks;first looks;second looks;");

  dump::DumpFacts facts;
  features_describe(facts);
  EXPECT_EQ(facts.step, 7);

  g_called = "";
  ASSERT_NE(find_command("two"), nullptr);
  EXPECT_TRUE(find_command("two")->refused_while_stopped);
  EXPECT_FALSE(find_command("two")->is_done());
  find_command("two")->run();
  EXPECT_TRUE(find_command("two")->is_done());
  ASSERT_NE(find_command("one"), nullptr);
  EXPECT_FALSE(find_command("one")->refused_while_stopped);
  EXPECT_EQ(find_command("four"), nullptr);
  EXPECT_EQ(g_called, "two;");

  hooks::add_features();
  using namespace rules;
  for (const char* text : {kRequestStop, kRequestStopValues, kRequestStartValues, kRequestRecord, kRequestNoRecord}) {
    ASSERT_NE(find_command(text), nullptr) << text;
    const bool may_fail = std::string(text) == kRequestRecord;
    EXPECT_EQ(find_command(text)->is_done != nullptr, may_fail) << text;
  }
}

}  // namespace
}  // namespace tensorscope::collector
