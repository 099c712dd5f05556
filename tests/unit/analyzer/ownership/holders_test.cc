// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/ownership/{holders,tensor_holders,tensor_modules}.cc
#include "ownership/holders.h"

#include <random>

#include "holders_fixture.h"
#include "memory/module_sums.h"

namespace tensorscope::analyzer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(HoldersTest, ParametersGradientsAndStateBelongToTheirModule) {
  TensorSpec grad;
  grad.address = 0xabc00;
  const uint64_t gradient = tensor(grad);
  TensorSpec trained;
  trained.grad = 0xabc00;
  trained.flags = kTrained;
  const uint64_t weight = tensor(trained), buffer = tensor(), state = tensor();
  path(weight, "model.fc1.weight");
  local(weight, "p", "main");
  path(buffer, "model.fc2.running_mean", ReferenceRole::buffer);
  path(state, "Adam.state['fc1.weight'].exp_avg", ReferenceRole::optimizer_state);
  read();
  EXPECT_THAT(names(weight), ElementsAre("model.fc1.weight", "p (local of main)"));
  EXPECT_THAT(names(gradient), ElementsAre("model.fc1.weight.grad"));
  EXPECT_THAT(names(state), ElementsAre("Adam.state['fc1.weight'].exp_avg"));
  EXPECT_EQ(category(weight), Category::parameter);
  EXPECT_EQ(evidence(weight), "in model.fc1's parameters");
  EXPECT_EQ(category(gradient), Category::gradient);
  EXPECT_EQ(evidence(gradient), "the .grad of model.fc1.weight");
  EXPECT_EQ(category(buffer), Category::buffer);
  EXPECT_EQ(category(state), Category::optimizer_state);
  for (uint64_t serial : {weight, gradient, state}) EXPECT_EQ(module(serial), "model.fc1") << serial;
  EXPECT_EQ(module(buffer), "model.fc2");
  EXPECT_THAT(held_by(gradient), ElementsAre("gradient of model.fc1.weight"));
  EXPECT_EQ(holders().holders(index(gradient))[0].root, "model");
  EXPECT_EQ(holders().holders(index(gradient))[0].tensor, index(weight));
}

TEST_F(HoldersTest, AModuleHasOneNumberHoweverItIsFound) {
  const uint64_t weight = tensor(), bias = tensor(), other = tensor(), none = tensor();
  TensorSpec made;
  made.site = in_fc1_;
  const uint64_t inside = tensor(made);
  path(weight, "model.fc1.weight");
  path(bias, "model.fc1.bias");
  path(other, "model.fc2.weight");
  read();
  const TensorModules& modules = holders().modules();
  const auto number = [&](uint64_t serial) { return modules.number(index(serial)); };
  EXPECT_EQ(modules.path(number(weight)), "model.fc1");
  EXPECT_EQ(number(bias), number(weight));
  EXPECT_EQ(number(inside), number(weight));
  EXPECT_NE(number(other), number(weight));
  EXPECT_EQ(number(none), 0u);
  EXPECT_EQ(modules.numbers(), 3u);
}

// Texts are made when they are asked for: what is asked first changes nothing.
TEST_F(HoldersTest, TextsDoNotDependOnWhatIsAskedFirst) {
  TensorSpec shared;
  shared.storage_base = 0x900000;
  const uint64_t weight = tensor(shared), alias = tensor(shared);
  path(weight, "model.fc1.weight");
  read();
  const Holders evidence_first(asked_->dump), holders_first(asked_->dump);
  const std::string evidence = evidence_first.evidence(index(alias));
  const std::string label = "#" + std::to_string(weight) + " (model.fc1.weight)";
  EXPECT_EQ(evidence, "shares the storage of " + label + ", in model.fc1's parameters");
  EXPECT_EQ(holders_first.holders(index(alias)).front().text, "same storage as " + label);
  EXPECT_EQ(holders_first.evidence(index(alias)), evidence);
  EXPECT_EQ(evidence_first.holders(index(alias)).front().text, holders_first.holders(index(alias)).front().text);
  EXPECT_EQ(evidence_first.names(index(weight)), holders_first.names(index(weight)));
}

TEST_F(HoldersTest, ItsModuleComesBeforeAShorterWay) {
  const uint64_t weight = tensor();
  builder_.reference({weight, "opt.state (key)", "main", "dict", ReferenceRoot::local});
  path(weight, "model.fc1.weight");
  read();
  EXPECT_THAT(held_by(weight), ElementsAre("model.fc1.weight", "opt.state (key) (local of main)"));
  EXPECT_EQ(holders().holders(index(weight))[0].root, "model");
}

// Whatever a file says, building ends, and every index stays in range.
TEST(Holders, WildDumps) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; round++) {
    auto below = [&](uint32_t end) { return uint32_t(random() % end); };
    DumpBuilder builder;
    for (uint64_t object : {1, 2}) builder.module_name(object, object == 1 ? "m" : "m.0..[x", "M");
    for (int i = 0; i < 12; i++) {
      builder.site(0, builder.python({{below(2) ? kTorch + "x.py" : "/x/a.py", "f", 1, false, below(3)}}, below(4)));
    }
    for (int i = 0; i < 12; i++) {
      TensorSpec spec;
      spec.storage_base = below(3) * 0x1000;
      spec.storage_nbytes = 16;
      spec.grad = 0x7f0000000000 + below(20) * 256;
      spec.grad_fn = 0x600000000000 + below(14) * 512;
      spec.flags = below(64);
      spec.site = below(14);
      builder.tensor(spec);
    }
    for (uint32_t i = 0; i < 12; i++) {
      const uint32_t node = builder.graph_node({mangled("Wild"), 0, 0, 0, 0, uint8_t(below(8))});
      for (int n = 0; n < 3; n++) builder.edge(node, below(16), below(3));
      builder.saved(node,
                    {below(16), uint16_t(below(3)), int16_t(below(3)), format::SlotState(below(4)), below(2) == 1});
    }
    for (int i = 0; i < 20; i++) {
      builder.reference({below(16), below(3) ? "m.a[1]['b']" : "", below(2) ? "f" : "", "dict",
                         ReferenceRoot(below(12)), ReferenceRole(below(7)), 0, below(16)});
      builder.tensor_object({below(16), "T", below(5), format::WrapperState(below(5))});
      builder.node_reference(below(16), "n", "f", ReferenceRoot(below(12)));
    }
    Asked asked(builder);
    for (uint32_t i = 0; i < asked.dump.tensors.size(); i++) {
      EXPECT_LE(asked.holders.holders(i).size(), asked.holders.holder_count(i) + 1);
      for (const Holder& holder : asked.holders.holders(i)) {
        EXPECT_FALSE(holder.text.empty());
        EXPECT_TRUE(holder.node == kNoNode || holder.node < asked.dump.graph.nodes.size());
        EXPECT_TRUE(holder.tensor == kNone || holder.tensor < asked.dump.tensors.size());
      }
    }
    for (const GroupBy by : {GroupBy::module, GroupBy::category, GroupBy::holder}) {
      uint64_t sum = 0;
      for (const Group& each : group(asked.view(), by)) sum += each.bytes;
      EXPECT_EQ(sum, asked.accounts.total_bytes());
    }
    for (bool merge : {false, true})
      EXPECT_EQ(module_sums(asked.view(), merge).all.total, asked.accounts.total_bytes());
  }
}

TEST_F(HoldersTest, TiedWeightsHaveBothNamesAndSoHasTheirGradient) {
  TensorSpec grad;
  grad.address = 0xabc00;
  const uint64_t gradient = tensor(grad);
  TensorSpec trained;
  trained.grad = 0xabc00;
  const uint64_t weight = tensor(trained);
  path(weight, "model.fc1.weight");
  path(weight, "model.fc2.weight");
  read();
  EXPECT_THAT(names(weight), ElementsAre("model.fc1.weight", "model.fc2.weight"));
  EXPECT_THAT(names(gradient), ElementsAre("model.fc1.weight.grad", "model.fc2.weight.grad"));
}

TEST_F(HoldersTest, TheProgramsOwnNameComesFirst) {
  const uint64_t t = tensor();
  global(t, "x");
  builder_.reference({t, "attention scores", "", "", ReferenceRoot::user});
  read();
  EXPECT_THAT(names(t), ElementsAre("attention scores", "train.py: x"));
  EXPECT_THAT(held_by(t), ElementsAre("train.py: x"));
}

TEST_F(HoldersTest, ASavedTensorIsHeldByTheShortestWayToPython) {
  const uint64_t saved = tensor();
  const uint32_t inner = node("NativeLayerNormBackward0", in_fc1_);
  uint32_t last = inner;
  for (int i = 0; i < 20; i++) {
    const uint32_t next = node("AddBackward0", in_main_);
    builder_.edge(next, last);
    last = next;
  }
  const uint64_t loss = result_of(last, in_main_);
  global(loss, "losses[3]");
  builder_.saved(inner, {saved, 1});
  builder_.slot_name("NativeLayerNormBackward0", 1, "result1");
  read();
  EXPECT_THAT(names(saved), ElementsAre("model.fc1: NativeLayerNormBackward0.result1"));
  EXPECT_THAT(held_by(saved),
              ElementsAre("saved by NativeLayerNormBackward0.result1 <- AddBackward0 <- ... (21 nodes) <- train.py: "
                          "losses[3]"));
  const Holder& holder = holders().holders(index(saved))[0];
  EXPECT_EQ(holder.brief, "saved by NativeLayerNormBackward0.result1 <- ... <- train.py: losses[3]");
  EXPECT_EQ(holder.root, "graph of train.py: losses");
  EXPECT_EQ(holder.kind, Holder::Kind::saved);
  EXPECT_EQ(category(saved), Category::saved_activation);
  EXPECT_EQ(evidence(saved), "saved by NativeLayerNormBackward0.result1");
  EXPECT_EQ(module(saved), "");
}

TEST_F(HoldersTest, AShortChainIsShownWhole) {
  const uint64_t saved = tensor();
  const uint32_t inner = node("MulBackward0"), outer = node("SumBackward0");
  builder_.edge(outer, inner);
  builder_.saved(inner, {saved, 0});
  builder_.node_reference(outer, "fn", "train.py");
  read();
  EXPECT_THAT(held_by(saved), ElementsAre("saved by MulBackward0.saved[0] <- SumBackward0 <- train.py: fn"));
}

TEST_F(HoldersTest, AGraphThatPythonDoesNotHoldSaysSo) {
  const uint64_t saved = tensor();
  const uint32_t inner = node("MulBackward0"), outer = node("SumBackward0");
  builder_.edge(outer, inner);
  builder_.saved(inner, {saved, 0});
  read();
  EXPECT_THAT(held_by(saved),
              ElementsAre("saved by MulBackward0.saved[0] <- SumBackward0 <- a graph without a Python root"));
  EXPECT_EQ(holders().holders(index(saved))[0].root, "autograd graph");
}

TEST_F(HoldersTest, AGraphThatIsDamagedIntoACircleEnds) {
  const uint64_t saved = tensor();
  const uint32_t a = node("MulBackward0"), b = node("SumBackward0");
  builder_.edge(a, b);
  builder_.edge(b, a);
  builder_.saved(a, {saved, 0});
  read();
  EXPECT_THAT(held_by(saved), ElementsAre("saved by MulBackward0.saved[0] <- a graph without a Python root"));
}

TEST_F(HoldersTest, AVeryDeepGraphNeedsNoDeepStack) {
  const uint64_t saved = tensor();
  uint32_t last = node("MulBackward0");
  builder_.saved(last, {saved, 0});
  for (int i = 0; i < 200'000; i++) {
    const uint32_t next = node("AddBackward0");
    builder_.edge(next, last);
    builder_.edge(next, last);
    last = next;
  }
  builder_.node_reference(last, "fn", "train.py");
  read();
  EXPECT_THAT(held_by(saved), ElementsAre(HasSubstr("(200001 nodes) <- train.py: fn")));
}

TEST_F(HoldersTest, WhatOnlyCppHolds) {
  TensorSpec spec;
  spec.storage_base = 0x900000;
  const uint64_t base = tensor(spec);
  spec.flags = uint32_t(TensorFlag::view);
  const uint64_t view = tensor(spec), other_view = tensor(spec);
  TensorSpec lonely;
  lonely.site = in_main_;
  const uint64_t alone = tensor(lonely);
  local(view, "part", "main");
  read();
  EXPECT_THAT(held_by(base), ElementsAre("base of the view #" + std::to_string(view) + " (part (local of main))"));
  EXPECT_THAT(held_by(other_view), ElementsAre("same storage as #" + std::to_string(view) + " (part (local of main))"));
  EXPECT_THAT(held_by(alone), ElementsAre("C++ only, made at train.py:10 main"));
  EXPECT_EQ(holders().holders(index(alone))[0].root, "C++ only");
}

TEST_F(HoldersTest, ALeafThatOnlyItsAccumulatorKeeps) {
  const uint64_t leaf = tensor();
  GraphNodeSpec spec{"N5torch8autograd14AccumulateGradE"};
  spec.flags = uint8_t(format::GraphNodeFlag::accumulates);
  const uint32_t accumulator = builder_.graph_node(spec), mul = node("MulBackward0");
  builder_.saved(accumulator, {leaf, 0});
  builder_.edge(mul, accumulator);
  builder_.node_reference(mul, "y.grad_fn", "train.py");
  read();
  EXPECT_THAT(held_by(leaf), ElementsAre("leaf of AccumulateGrad <- MulBackward0 <- train.py: y.grad_fn"));
  EXPECT_EQ(category(leaf), Category::unknown);
}

TEST_F(HoldersTest, GarbageTracebacksAndContexts) {
  const uint64_t garbage = tensor(), caught = tensor(), context = tensor();
  const uint32_t function = node("MyFunctionBackward", in_fc1_);
  builder_.node_reference(function, "y.grad_fn", "train.py");
  builder_.reference({garbage, "", "Trainer, dict", "dict", ReferenceRoot::cycle});
  builder_.tensor_object({garbage, "Tensor", 1, format::WrapperState::garbage});
  builder_.reference({caught, "h", "ValueError in Block.forward", "", ReferenceRoot::traceback});
  builder_.reference(
      {context, "ctx.mask", "MyFunctionBackward", "dict", ReferenceRoot::node, ReferenceRole::saved, 1, function});
  read();
  EXPECT_THAT(held_by(garbage), ElementsAre("unreachable cycle of Trainer, dict"));
  EXPECT_EQ(holders().holders(index(garbage))[0].kind, Holder::Kind::cycle);
  EXPECT_THAT(held_by(caught), ElementsAre("traceback of ValueError in Block.forward: h"));
  EXPECT_THAT(held_by(context), ElementsAre("saved by MyFunctionBackward: ctx.mask <- train.py: y.grad_fn"));
  EXPECT_EQ(category(context), Category::saved_activation);
}

TEST_F(HoldersTest, CountsGoBeyondWhatIsListed) {
  const uint64_t t = tensor(), untraced = tensor();
  global(t, "a");
  builder_.tensor_object({t, "Tensor", 1000});
  builder_.tensor_object({untraced, "Tensor", 3});
  const uint32_t mul = node("MulBackward0");
  for (uint16_t i = 0; i < 40; i++) builder_.saved(mul, {t, i});
  read();
  EXPECT_EQ(holders().holder_count(index(t)), 1040u);
  EXPECT_THAT(held_by(t), SizeIs(17));
  EXPECT_EQ(holders().holder_count(index(untraced)), 3u);
  EXPECT_THAT(held_by(untraced), ElementsAre(HasSubstr("not traced")));
}

TEST_F(HoldersTest, FiltersByNameHolderAndGradient) {
  TensorSpec trained;
  trained.flags = kTrained;
  trained.grad = 0x1;
  const uint64_t weight = tensor(trained), other = tensor(trained), loss = tensor();
  path(weight, "model.fc1.weight");
  path(other, "model.fc2.weight");
  global(loss, "losses[3]");
  builder_.tensor_object({loss, "LossTensor"});
  auto selected = [&](const Filter& filter) {
    Asked asked(builder_, filter);
    std::vector<uint64_t> serials;
    uint64_t items = 0;
    for (uint32_t i = 0; i < asked.dump.tensors.size(); i++) {
      if (asked.selection.tensor(i)) serials.push_back(asked.dump.tensors[i].serial);
    }
    for (uint32_t i = 0; i < asked.accounts.items().size(); i++) items += asked.selection.item(i);
    EXPECT_EQ(items, serials.size());
    return serials;
  };
  EXPECT_THAT(selected({.names = {"fc1"}}), ElementsAre(weight));
  EXPECT_THAT(selected({.names = {"*.weight"}}), ElementsAre(weight, other));
  EXPECT_THAT(selected({.names = {"*losses[?]"}}), ElementsAre(loss));
  EXPECT_THAT(selected({.holders = {"losses[3]"}}), ElementsAre(loss));
  EXPECT_THAT(selected({.modules = {"model.fc2"}}), ElementsAre(other));
  EXPECT_THAT(selected({.with_grad = true}), ElementsAre(weight, other));
  EXPECT_THAT(selected({.requires_grad = true}), ElementsAre(weight, other));
  EXPECT_THAT(selected({.leaf = true}), ElementsAre(weight, other, loss));
  EXPECT_THAT(selected({.classes = {"LossTensor"}}), ElementsAre(loss));
  EXPECT_THAT(selected({.categories = {"parameter"}, .names = {"fc2"}}), ElementsAre(other));
  EXPECT_THAT(selected({.holders = {"C++ only"}}), IsEmpty());
}

TEST(MergedNames, Numbers) {
  const auto merged = [](const std::vector<std::string>& names) { return merged_names(names); };
  EXPECT_EQ(merged({"train.py: losses[0]", "train.py: losses[2]", "train.py: losses[1]"}), "train.py: losses[0..2]");
  EXPECT_EQ(merged({"losses[3]"}), "losses[3]");
  EXPECT_EQ(merged({"a[1]", "a[5]"}), "a[1,5]");
  EXPECT_EQ(merged({"a[1]", "a[5]", "a[7]", "a[100]"}), "a[*]");
  EXPECT_EQ(merged({"model.layers.0.attn.out[0]", "model.layers.7.attn.out[0]"}), "model.layers.*.attn.out[0]");
  EXPECT_EQ(merged({"h[1]['a'][2]", "h[2]['a'][3]"}), "h[*]['a'][*]");
  EXPECT_EQ(merged({"fc1.weight", "fc2.weight"}), "fc1.weight; fc2.weight");
  EXPECT_EQ(merged({"c", "a[1]", "a[2]", "d"}), "a[1..2]; c and 1 more");
  EXPECT_EQ(merged({"a[99999999999999999999999999]", ""}), "a[99999999999999999999999999]");
  EXPECT_EQ(merged({}), "");
}

}  // namespace
}  // namespace tensorscope::analyzer
