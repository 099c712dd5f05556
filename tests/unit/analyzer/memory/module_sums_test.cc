// SPDX-License-Identifier: Apache-2.0
#include "memory/module_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/analyzer/questions_fixture.h"

namespace tensorscope::analyzer {
namespace {

using testing::Asked;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using testing::owned;

// Parameters of 16 bytes each, in modules of these paths; one tensor of 400 bytes in none.
DumpBuilder model_of(const std::vector<std::pair<std::string, std::string>>& modules) {
  DumpBuilder builder;
  uint64_t object = 0, serial = 100;
  for (const auto& [path, class_name] : modules) {
    builder.module_name(++object, path, class_name);
    owned(builder, 4, 0, serial);
    builder.reference({serial, path + ".weight", "train.py", "dict", format::ReferenceRoot::global,
                       format::ReferenceRole::parameter});
    serial += 10;
  }
  owned(builder, 100, 0, serial);
  return builder;
}

std::vector<std::string> lines(const ModuleSums& sums) {
  std::vector<std::string> result;
  for (const ModuleRow& row : sums.rows) {
    result.push_back(std::string(size_t(row.depth), ' ') + row.name + " " + std::to_string(row.modules) + " " +
                     std::to_string(row.bytes[size_t(Category::parameter)]));
  }
  return result;
}

TEST(ModuleSums, ALineIncludesTheModulesInIt) {
  Asked asked(model_of({{"net.b", "B"}, {"net.a", "A"}, {"net.a.inner", "C"}}));
  const ModuleSums sums = module_sums(asked.view(), true);
  EXPECT_THAT(lines(sums), ElementsAre("net 1 48", " b 1 16", " a 1 32", "  inner 1 16"));
  EXPECT_EQ(sums.rows[1].class_name, "B");
  EXPECT_EQ(sums.none.total, 400u);
  EXPECT_EQ(sums.all.total, 448u);
  EXPECT_EQ(sums.all.total, asked.accounts.total_bytes());
}

TEST(ModuleSums, RepeatedLayersAreOneLine) {
  const DumpBuilder builder =
      model_of({{"net.0", "B"}, {"net.0.fc", "L"}, {"net.1", "B"}, {"net.1.fc", "L"}, {"net.2", "Other"}});
  Asked asked(builder);
  EXPECT_THAT(lines(module_sums(asked.view(), true)), ElementsAre("net 1 80", " * 2 64", "  fc 2 32", " 2 1 16"));
  EXPECT_THAT(lines(module_sums(asked.view(), false)),
              ElementsAre("net 1 80", " 0 1 32", "  fc 1 16", " 1 1 32", "  fc 1 16", " 2 1 16"));
}

TEST(ModuleTree, GroupsBecomeATreeWithSubTotals) {
  std::vector<Group> groups(4);
  const char* const names[] = {"net.a.x", "net.a.y", "(in no module)", "net.b.c.d"};
  for (size_t i = 0; i < groups.size(); i++) {
    groups[i].key = groups[i].label = names[i];
    groups[i].bytes = 10 + i;
    groups[i].tensors = 1;
    groups[i].oldest_ns = 5 + i;
  }
  std::vector<std::string> shown;
  for (const Group& group : module_tree(groups)) shown.push_back(group.label + " " + std::to_string(group.bytes));
  EXPECT_THAT(shown, ElementsAre("net 34", "  a 21", "    x 10", "    y 11", "  b.c.d 13", "(in no module) 12"));
}

}  // namespace
}  // namespace tensorscope::analyzer
