// SPDX-License-Identifier: Apache-2.0
#include "ownership/module_outputs.h"

#include "holders_fixture.h"

namespace tensorscope::analyzer {
namespace {

using ModuleOutputsTest = HoldersTest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(ModuleOutputsTest, OutputsAreNamedForEachCallThatTheyLeft) {
  // x -> fc1 -> relu (in model) -> fc2 -> sum (in main)
  const uint32_t fc1 = node("AddmmBackward0", in_fc1_);
  const uint32_t relu = node("ReluBackward0", builder_.site(0, forward_));
  const uint32_t fc2 = node("AddmmBackward0", in_fc2_), sum = node("SumBackward0", in_main_);
  builder_.edge(relu, fc1);
  builder_.edge(fc2, relu);
  builder_.edge(sum, fc2);
  const uint64_t hidden = result_of(fc1, in_fc1_), active = result_of(relu, in_main_), out = result_of(fc2, in_fc2_);
  const uint64_t loss = result_of(sum, in_main_);
  local(out, "out", "main");
  read();
  EXPECT_THAT(names(hidden), ElementsAre("model.fc1.out"));
  EXPECT_THAT(names(active), IsEmpty());
  EXPECT_THAT(names(out), ElementsAre("model.out", "model.fc2.out", "out (local of main)"));
  EXPECT_THAT(names(loss), IsEmpty());
  EXPECT_EQ(category(out), Category::output);
  EXPECT_EQ(evidence(out), "model.out, held by out (local of main)");
  EXPECT_EQ(module(out), "model.fc2");
}

TEST_F(ModuleOutputsTest, AnOutputThatNothingUsesLeftTheCallsInsideItsHoldersFrame) {
  TensorSpec spec;
  spec.site = in_fc2_;
  const uint64_t inside = tensor(spec), outside = tensor(spec), kept = tensor(spec), history = tensor(spec);
  local(inside, "h", "Net.forward");
  local(outside, "out", "main");
  global(kept, "model.cache[0]");
  const uint64_t state = tensor(spec);
  builder_.reference({state, "metric.total", "main", "Metric", ReferenceRoot::local, ReferenceRole::module_attribute});
  global(history, "history[0]");
  read();
  EXPECT_THAT(names(inside), ElementsAre("model.fc2.out", "h (local of Net.forward)"));
  EXPECT_THAT(names(outside), ElementsAre("model.out", "model.fc2.out", "out (local of main)"));
  EXPECT_THAT(names(kept), ElementsAre("train.py: model.cache[0]"));
  EXPECT_THAT(names(state), ElementsAre("metric.total"));
  EXPECT_THAT(names(history), ElementsAre("model.out", "model.fc2.out", "train.py: history[0]"));
}

TEST_F(ModuleOutputsTest, OutputsThatWereRecordedAreNotInferred) {
  TensorSpec spec;
  spec.site = in_fc2_;
  const uint64_t out = tensor(spec);
  builder_.reference({out, "model.out['logits']", "", "", ReferenceRoot::output});
  builder_.reference({out, "model.fc2.out", "", "", ReferenceRoot::output});
  local(out, "out", "main");
  read();
  EXPECT_THAT(names(out), ElementsAre("model.out['logits']", "model.fc2.out", "out (local of main)"));
  EXPECT_EQ(evidence(out), "model.out['logits'], held by out (local of main)");
}

TEST_F(ModuleOutputsTest, SeveralOutputsOfOneCallHaveNoNumbers) {
  const uint32_t first = builder_.site(0, forward_);
  TensorSpec spec;
  spec.site = in_fc1_;
  const uint64_t a = tensor(spec);
  spec.site = first;
  const uint64_t b = tensor(spec);
  for (uint64_t serial : {a, b}) global(serial, "outs[" + std::to_string(serial) + "]");
  read();
  EXPECT_EQ(names(a)[0], "model.out");
  EXPECT_EQ(names(b)[0], "model.out");
}

// Autocast's copy of a tied weight is made in one layer and used by the other, too.
TEST_F(ModuleOutputsTest, ACastOfALeafIsNoOutput) {
  GraphNodeSpec leaf{"N5torch8autograd14AccumulateGradE"};
  leaf.flags = uint8_t(format::GraphNodeFlag::accumulates);
  const uint32_t accumulator = builder_.graph_node(leaf);
  const uint32_t cast = node("ToCopyBackward0", in_fc1_), other = node("MmBackward0", in_fc2_);
  builder_.edge(cast, accumulator);
  builder_.edge(other, cast);
  const uint64_t copy = result_of(cast, in_fc1_);
  read();
  EXPECT_THAT(names(copy), IsEmpty());
  EXPECT_EQ(category(copy), Category::cache);
}

TEST_F(ModuleOutputsTest, FunctionsOfTheProgramHaveTheirOwnName) {
  GraphNodeSpec spec{"N5torch8autograd6PyNodeE"};
  spec.flags = uint8_t(format::GraphNodeFlag::python);
  const uint32_t function = builder_.graph_node(spec);
  const uint64_t saved = tensor(), mask = tensor();
  builder_.saved(function, {saved, 0, 1});
  builder_.reference(
      {mask, "mask", "MyFunctionBackward", "dict", ReferenceRoot::node, ReferenceRole::saved, 1, function});
  read();
  EXPECT_THAT(names(saved), ElementsAre("MyFunctionBackward.saved_tensors[1]"));
}

// The alias that SoftmaxBackward0 keeps of its result, after the program dropped its own.
TEST_F(ModuleOutputsTest, ASavedAliasOfAnOutputHasItsName) {
  const uint32_t softmax = node("SoftmaxBackward0", in_fc1_), sum = node("SumBackward0", in_main_);
  builder_.edge(sum, softmax);
  TensorSpec spec;
  spec.site = in_fc1_;
  const uint64_t alias = tensor(spec);
  builder_.saved(softmax, {alias, 0, -1, format::SlotState::held, true});
  read();
  EXPECT_THAT(names(alias), ElementsAre("model.out", "model.fc1.out"));
  EXPECT_EQ(category(alias), Category::saved_activation);
}

}  // namespace
}  // namespace tensorscope::analyzer
