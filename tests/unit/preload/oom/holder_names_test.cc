// SPDX-License-Identifier: Apache-2.0
#include "oom/holder_names.h"

#include "built_tables.h"

namespace tensorscope::oom {
namespace {

using format::ReferenceRole;
using format::ReferenceRoot;

class HolderNamesTest : public BuiltTables {
 protected:
  // Of the only tensor, or of the one with this number.
  std::string name(uint32_t number = 0) {
    const DumpTables all = tables();
    return holder_name(all, TensorLinks(all), number);
  }
};

std::string merged(const std::vector<std::string>& names) {
  std::vector<HeldBytes> held;
  for (const std::string& name : names) held.push_back({name, name.empty() ? 0u : 1u});
  return merged_names(held);
}

TEST_F(HolderNamesTest, UnknownIsEmpty) {
  tensor(0x1000, 8);
  EXPECT_EQ(name(), "");
}

TEST_F(HolderNamesTest, WaysInPython) {
  reference(tensor(0x1000, 8), "history[3]", ReferenceRole::plain, ReferenceRoot::global, "train.py", "list");
  reference(tensor(0x2000, 8), "h", ReferenceRole::plain, ReferenceRoot::local, "Block.forward");
  reference(tensor(0x3000, 8), "", ReferenceRole::plain, ReferenceRoot::cycle, "Node, dict");
  reference(tensor(0x4000, 8), "model.weight", ReferenceRole::parameter, ReferenceRoot::global, "train.py", "Linear");
  reference(tensor(0x5000, 8), "ctx.x", ReferenceRole::plain, ReferenceRoot::node, "ScaleBackward");
  EXPECT_EQ(name(0), "train.py: history[3] (list)");
  EXPECT_EQ(name(1), "h (local of Block.forward)");
  EXPECT_EQ(name(2), "unreachable cycle of Node, dict");
  EXPECT_EQ(name(3), "model.weight");
  EXPECT_EQ(name(4), "saved by ScaleBackward: ctx.x");
}

TEST_F(HolderNamesTest, WhatItIsToItsModuleComesBeforeAShorterWay) {
  const Serial it = tensor(0x1000, 8);
  reference(it, "w", ReferenceRole::plain, ReferenceRoot::local, "main");
  reference(it, "model.weight", ReferenceRole::parameter);
  EXPECT_EQ(name(), "model.weight");
}

TEST_F(HolderNamesTest, TheProgramsOwnNameComesFirst) {
  const Serial it = tensor(0x1000, 8);
  reference(it, "model.weight", ReferenceRole::parameter);
  reference(it, "attention scores", ReferenceRole::plain, ReferenceRoot::user);
  reference(it, "model.out[0]", ReferenceRole::plain, ReferenceRoot::output);
  EXPECT_EQ(name(), "attention scores");
}

TEST_F(HolderNamesTest, HoldersOfOneNameAreToldApart) {
  reference_in_call(tensor(0x1000, 8), "seen[0]", "work", "loader", 1);
  reference_in_call(tensor(0x2000, 8), "seen[0]", "work", "writer", 2);
  reference_from(0x7f10, tensor(0x3000, 8), "seen[0]", ReferenceRoot::suspended, "producer");
  reference_from(0x7f20, tensor(0x4000, 8), "seen[0]", ReferenceRoot::suspended, "producer");
  reference_from(0x7f30, tensor(0x5000, 8), "list[0]", ReferenceRoot::extension, "list");
  EXPECT_EQ(name(0), "seen[0] (local of work, thread loader) (list)");
  EXPECT_EQ(name(1), "seen[0] (local of work, thread writer) (list)");
  EXPECT_EQ(name(2), "seen[0] (in the waiting producer, #1) (list)");
  EXPECT_EQ(name(3), "seen[0] (in the waiting producer, #2) (list)");
  EXPECT_EQ(name(4), "list[0] (held by C code, through list) (list)");
}

// As the analyzer says it: what it is to another tensor comes before a variable.
TEST_F(HolderNamesTest, AGradientInAVariableIsAGradient) {
  const Serial gradient = tensor(0x1000, 8);
  reference(gradient, "g", ReferenceRole::plain, ReferenceRoot::local, "main");
  reference(tensor(0x2000, 8, 0, gradient * 1000), "model.weight", ReferenceRole::parameter);
  EXPECT_EQ(name(), "gradient of model.weight");
}

TEST_F(HolderNamesTest, GradientsAndSlots) {
  const Serial gradient = tensor(0x1000, 8);
  reference(tensor(0x2000, 8, 0, gradient * 1000), "model.weight", ReferenceRole::parameter);
  saved(tensor(0x3000, 8));
  EXPECT_EQ(name(0), "gradient of model.weight");
  EXPECT_EQ(name(2), "saved by ReluBackward0.saved[0]");
  references_.slots.emplace_back(references_.strings.intern("ReluBackward0"), references_.strings.intern("result"),
                                 uint16_t{0});
  EXPECT_EQ(name(2), "saved by ReluBackward0.result");
}

TEST(MergedNames, OneForm) {
  EXPECT_EQ(merged({}), "");
  EXPECT_EQ(merged({"", ""}), "");
  EXPECT_EQ(merged({"history[0] (list)", "history[2] (list)", "history[1] (list)"}), "history[0..2] (list)");
  EXPECT_EQ(merged({"a[0]", "b", "a[1]", "c"}), "a[0..1] (2 B) and 2 more (2 B)");
}

TEST(MergedNames, WhatHoldsTheMostComesFirst) {
  EXPECT_EQ(merged_names({{"step[0]", 4}, {"step[1]", 4}, {"exp_avg", 4096}}), "exp_avg (4.0 KiB) and 2 more (8 B)");
}

TEST(MergedNames, WhatHasNoNameIsCountedAsWell) {
  EXPECT_EQ(merged_names({{"cache['big']", 4096}, {"", 1024, 3}}), "cache['big'] (4.0 KiB) and 3 more (1.0 KiB)");
}

}  // namespace
}  // namespace tensorscope::oom
