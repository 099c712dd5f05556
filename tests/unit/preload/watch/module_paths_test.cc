// SPDX-License-Identifier: Apache-2.0
// How patterns match modules. Modules of a program are looked at in tests/integration/test_watch_modes.py.
#include "watch/module_paths.h"

#include <gtest/gtest.h>

namespace tensorscope::watch {
namespace {

using rules::PathMatch;
using rules::WatchSpec;

// A module, with its path without wrappers if that is another one.
WatchedModule module_at(const std::string& path, const std::string& own = "") {
  WatchedModule module;
  module.path = path;
  module.segments = rules::path_segments(path);
  module.own_segments = rules::path_segments(own.empty() ? path : own);
  return module;
}

WatchSpec watch_of(const std::string& path, const std::vector<std::string>& exclude = {}) {
  WatchSpec watch;
  watch.path = path;
  watch.pattern = rules::path_segments(path);
  for (const std::string& each : exclude) watch.exclude.push_back(rules::path_segments(each));
  return watch;
}

TEST(ModulePaths, a_pattern_matches_a_module_or_what_lies_in_it) {
  const WatchedModule attention = module_at("model.layers.3.attn");
  EXPECT_EQ(match_module(watch_of("model.layers.*.attn"), attention), PathMatch::whole);
  EXPECT_EQ(match_module(watch_of("model.**"), attention), PathMatch::whole);
  EXPECT_EQ(match_module(watch_of("model.layers.*.attn.weight"), attention), PathMatch::begins);
  EXPECT_EQ(match_module(watch_of("model.layers.*.mlp"), attention), PathMatch::no);
}

TEST(ModulePaths, what_follows_the_module_is_part_of_the_path) {
  const WatchedModule linear = module_at("model.fc");
  EXPECT_EQ(match_module(watch_of("model.fc.weight"), linear, {"weight"}), PathMatch::whole);
  EXPECT_EQ(match_module(watch_of("model.fc.weight.grad"), linear, {"weight", "grad"}), PathMatch::whole);
  EXPECT_EQ(match_module(watch_of("model.fc.bias"), linear, {"weight"}), PathMatch::no);
}

TEST(ModulePaths, a_pattern_may_name_a_module_with_its_wrappers_or_without) {
  const WatchedModule linear = module_at("ddp.module.fc", "ddp.fc");
  EXPECT_EQ(match_module(watch_of("ddp.fc"), linear), PathMatch::whole);
  EXPECT_EQ(match_module(watch_of("ddp.module.fc"), linear), PathMatch::whole);
  EXPECT_EQ(match_module(watch_of("ddp.fc.weight"), linear, {"weight"}), PathMatch::whole);
  EXPECT_EQ(match_module(watch_of("ddp.fc.weight"), linear), PathMatch::begins);
}

// "ddp" and "ddp.module" return the same: one pattern gives one value.
TEST(ModulePaths, a_wrapped_module_is_not_matched_by_its_wrappers_path) {
  WatchedModule wrapped = module_at("ddp.module", "ddp");
  wrapped.is_wrapped = true;
  EXPECT_NE(match_module(watch_of("ddp"), wrapped), PathMatch::whole);
  EXPECT_EQ(match_module(watch_of("ddp.module"), wrapped), PathMatch::whole);
  EXPECT_EQ(match_module(watch_of("ddp.weight"), wrapped, {"weight"}), PathMatch::whole);  // a parameter has one place
}

TEST(ModulePaths, an_exclusion_holds_with_and_without_wrappers) {
  const WatchedModule linear = module_at("ddp.module.fc", "ddp.fc");
  EXPECT_TRUE(excludes_module(watch_of("**", {"ddp.fc"}), linear));
  EXPECT_TRUE(excludes_module(watch_of("**", {"ddp.module.*"}), linear));
  EXPECT_TRUE(excludes_module(watch_of("**", {"ddp.fc.bias"}), linear, {"bias"}));
  EXPECT_FALSE(excludes_module(watch_of("**", {"ddp.fc.bias"}), linear));
  EXPECT_FALSE(excludes_module(watch_of("**"), linear));
}

TEST(ModulePaths, a_watch_that_nothing_has_matched_is_known) {
  const std::vector<WatchSpec> watches = {watch_of("model.fc"), watch_of("model.gone")};
  ModulePaths paths(watches);
  paths.mark_matched(0);
  EXPECT_TRUE(paths.matched(0));
  EXPECT_FALSE(paths.matched(1));
}

// Otherwise each new module would be searched for parameters.
TEST(ModulePaths, parameters_are_looked_for_only_if_a_watch_can_name_one) {
  WatchSpec outputs = watch_of("model.fc"), gradients = watch_of("model.**"), every = watch_of("model.*"),
            function = watch_of("model.fc");
  outputs.of = rules::WatchOf::outputs;
  gradients.of = rules::WatchOf::gradients;
  function.of = rules::WatchOf::returns;
  const auto wants = [](const std::vector<WatchSpec>& watches) { return ModulePaths(watches).wants_attributes(); };
  EXPECT_FALSE(wants({outputs, every, function}));
  EXPECT_TRUE(wants({outputs, gradients}));
  EXPECT_TRUE(wants({watch_of("model.fc")}));  // may be a parameter's name
}

}  // namespace
}  // namespace tensorscope::watch
