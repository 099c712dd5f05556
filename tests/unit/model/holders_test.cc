#include "model/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "model/module_sums.h"
#include "questions_fixture.h"

namespace tensorscope::model {
namespace {

using dump::ReferenceRole;
using dump::ReferenceRoot;
using dump::TensorFlag;
using testing::Asked;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using testing::GraphNodeSpec;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TensorSpec;

constexpr uint32_t kTrained = uint32_t(TensorFlag::leaf) | uint32_t(TensorFlag::requires_grad);
const std::string kTorch = "/v/site-packages/torch/";

std::string mangled(const std::string& name) {
  return "N5torch8autograd9generated" + std::to_string(name.size()) + name + "E";
}

// A training program with a model of two layers, as small as it can be.
class HoldersTest : public ::testing::Test {
 protected:
  HoldersTest() {
    builder_.has_graph = builder_.has_references = true;
    builder_.module_name(0x1, "model", "Net");
    builder_.module_name(0x2, "model.fc1", "Linear");
    builder_.module_name(0x3, "model.fc2", "Linear");
    main_ = builder_.python({{"/x/train.py", "main", 10}});
    call_ = builder_.python({{kTorch + "nn/modules/module.py", "_wrapped_call_impl", 1, false, 0x1}}, main_);
    forward_ = builder_.python({{"/x/train.py", "Net.forward", 20}}, call_);
    in_main_ = builder_.site(0, main_);
    in_fc1_ = builder_.site(0, layer(0x2, 21));
    in_fc2_ = builder_.site(0, layer(0x3, 22));
  }

  uint32_t layer(uint64_t object, int line) {
    return builder_.python({{"/x/train.py", "Net.forward", line},
                            {kTorch + "nn/modules/module.py", "_wrapped_call_impl", 1, false, object},
                            {kTorch + "nn/modules/linear.py", "Linear.forward", 2}},
                           call_);
  }

  uint64_t tensor(TensorSpec spec = {}) {
    if (spec.sizes.empty()) spec.sizes = {4};
    if (spec.storage_base == 0) spec.storage_base = 0x10000 + 0x1000 * ++blocks_;
    return builder_.tensor(spec);
  }
  uint64_t result_of(uint32_t node, uint32_t site) {
    TensorSpec spec;
    spec.grad_fn = builder_.graph_address(node);
    spec.flags = uint32_t(TensorFlag::requires_grad);
    spec.site = site;
    return tensor(spec);
  }
  uint32_t node(const std::string& name, uint32_t site = 0) {
    GraphNodeSpec spec{mangled(name)};
    spec.address = 0x50000 + 0x100 * ++nodes_;
    if (site != 0) spec.serial = builder_.node(spec.address, mangled(name), site);
    return builder_.graph_node(spec);
  }
  void global(uint64_t tensor, const std::string& text) { builder_.reference({tensor, text, "train.py"}); }
  void local(uint64_t tensor, const std::string& text, const std::string& function) {
    builder_.reference({tensor, text, function, "", ReferenceRoot::local});
  }
  void path(uint64_t tensor, const std::string& text, ReferenceRole role = ReferenceRole::parameter) {
    builder_.reference({tensor, text, "train.py", "dict", ReferenceRoot::global, role});
  }

  void read() {
    asked_ = std::make_unique<Asked>(builder_);
    ASSERT_THAT(asked_->dump.problems, IsEmpty());
  }
  uint32_t index(uint64_t serial) const {
    for (uint32_t i = 0; i < asked_->dump.tensors.size(); i++) {
      if (asked_->dump.tensors[i].serial == serial) return i;
    }
    return kNone;
  }
  const Holders& holders() const { return asked_->holders; }
  const std::vector<std::string>& names(uint64_t serial) const { return holders().names(index(serial)); }
  std::vector<std::string> held_by(uint64_t serial) const {
    std::vector<std::string> texts;
    for (const Holder& holder : holders().holders(index(serial))) texts.push_back(holder.text);
    return texts;
  }
  Category category(uint64_t serial) const { return holders().category(index(serial)); }
  const std::string& evidence(uint64_t serial) const { return holders().evidence(index(serial)); }
  const std::string& module(uint64_t serial) const { return holders().module(index(serial)); }

  DumpBuilder builder_;
  std::unique_ptr<Asked> asked_;
  uint32_t main_, call_, forward_, in_main_, in_fc1_, in_fc2_;
  uint64_t blocks_ = 0, nodes_ = 0;
};

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
      builder.saved(node, {below(16), uint16_t(below(3)), int16_t(below(3)), dump::SlotState(below(4)), below(2) == 1});
    }
    for (int i = 0; i < 20; i++) {
      builder.reference({below(16), below(3) ? "m.a[1]['b']" : "", below(2) ? "f" : "", "dict",
                         ReferenceRoot(below(12)), ReferenceRole(below(7)), 0, below(16)});
      builder.tensor_object({below(16), "T", below(5), dump::WrapperState(below(5))});
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
    for (const By by : {By::module, By::category, By::holder}) {
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

TEST_F(HoldersTest, OutputsAreNamedForEachCallThatTheyLeft) {
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

TEST_F(HoldersTest, AnOutputThatNothingUsesLeftTheCallsInsideItsHoldersFrame) {
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

TEST_F(HoldersTest, OutputsThatWereRecordedAreNotInferred) {
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

TEST_F(HoldersTest, SeveralOutputsOfOneCallHaveNoNumbers) {
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
TEST_F(HoldersTest, ACastOfALeafIsNoOutput) {
  GraphNodeSpec leaf{"N5torch8autograd14AccumulateGradE"};
  leaf.flags = uint8_t(dump::GraphNodeFlag::accumulates);
  const uint32_t accumulator = builder_.graph_node(leaf);
  const uint32_t cast = node("ToCopyBackward0", in_fc1_), other = node("MmBackward0", in_fc2_);
  builder_.edge(cast, accumulator);
  builder_.edge(other, cast);
  const uint64_t copy = result_of(cast, in_fc1_);
  read();
  EXPECT_THAT(names(copy), IsEmpty());
  EXPECT_EQ(category(copy), Category::cache);
}

TEST_F(HoldersTest, FunctionsOfTheProgramHaveTheirOwnName) {
  GraphNodeSpec spec{"N5torch8autograd6PyNodeE"};
  spec.flags = uint8_t(dump::GraphNodeFlag::python);
  const uint32_t function = builder_.graph_node(spec);
  const uint64_t saved = tensor(), mask = tensor();
  builder_.saved(function, {saved, 0, 1});
  builder_.reference(
      {mask, "mask", "MyFunctionBackward", "dict", ReferenceRoot::node, ReferenceRole::saved, 1, function});
  read();
  EXPECT_THAT(names(saved), ElementsAre("MyFunctionBackward.saved_tensors[1]"));
}

// The alias that SoftmaxBackward0 keeps of its result, after the program dropped its own.
TEST_F(HoldersTest, ASavedAliasOfAnOutputHasItsName) {
  const uint32_t softmax = node("SoftmaxBackward0", in_fc1_), sum = node("SumBackward0", in_main_);
  builder_.edge(sum, softmax);
  TensorSpec spec;
  spec.site = in_fc1_;
  const uint64_t alias = tensor(spec);
  builder_.saved(softmax, {alias, 0, -1, dump::SlotState::held, true});
  read();
  EXPECT_THAT(names(alias), ElementsAre("model.out", "model.fc1.out"));
  EXPECT_EQ(category(alias), Category::saved_activation);
}

TEST_F(HoldersTest, MemoryIsForOneThing) {
  TensorSpec spec;
  spec.storage_base = 0x900000;
  spec.flags = kTrained;
  const uint64_t weight = tensor(spec);
  spec.flags = uint32_t(TensorFlag::view);
  const uint64_t transposed = tensor(spec);
  const uint32_t mm = node("MmBackward0");
  builder_.saved(mm, {transposed, 0});
  path(weight, "model.fc1.weight");
  read();
  EXPECT_EQ(category(transposed), Category::parameter);
  EXPECT_EQ(evidence(transposed),
            "shares the storage of #" + std::to_string(weight) + " (model.fc1.weight), in model.fc1's parameters");
  EXPECT_EQ(holders().speaker(asked_->dump.tensors[index(weight)].storage), index(weight));
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
  spec.flags = uint8_t(dump::GraphNodeFlag::accumulates);
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
  builder_.tensor_object({garbage, "Tensor", 1, dump::WrapperState::garbage});
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

TEST_F(HoldersTest, CategoriesByWhoMadeAndWhoKeeps) {
  auto made = [&](const std::string& file, const std::string& function) {
    TensorSpec spec;
    spec.site = builder_.site(0, builder_.python({{file, function, 5}}, main_));
    return tensor(spec);
  };
  const uint64_t batch = made(kTorch + "utils/data/_utils/collate.py", "default_collate");
  const uint64_t sent = made(kTorch + "multiprocessing/reductions.py", "rebuild_storage_fd");
  const uint64_t inside = made(kTorch + "nn/functional.py", "normalize");
  const uint64_t cached = made("/x/train.py", "masks"), shared = made("/x/train.py", "f"),
                 mine = made("/x/train.py", "f");
  local(batch, "x", "main");
  local(inside, "denom", "normalize");
  builder_.reference({cached, "lru_cache of masks[8]", "train.py", "functools._lru_cache_wrapper"});
  builder_.reference({shared, "Rope.table", "rope", "dict", ReferenceRoot::class_});
  global(mine, "total");
  const uint64_t listed = made("/x/train.py", "f");
  builder_.reference({listed, "history[2]", "train.py", "list"});
  builder_.reference({listed, "Rope.table", "rope", "dict", ReferenceRoot::class_});
  TensorSpec result;
  result.site = in_fc2_;
  const uint64_t field = tensor(result), element = tensor(result),
                 bucket = made(kTorch + "nn/parallel/distributed.py", "_init");
  builder_.reference({field, "out.logits", "main", "Output", ReferenceRoot::local});
  builder_.reference({element, "outs[3].logits", "main", "Output", ReferenceRoot::local});
  const uint64_t rows = made("/x/train.py", "f"), keys = made("/x/train.py", "f");
  builder_.reference({rows, "data.x", "train.py", "Rows", ReferenceRoot::global, ReferenceRole::plain, 1, UINT32_MAX,
                      dump::ReferenceWithin::dataset});
  builder_.reference({keys, "past.layers[0].keys", "main", "Layer", ReferenceRoot::local, ReferenceRole::plain, 3,
                      UINT32_MAX, dump::ReferenceWithin::kv_cache});
  for (const uint64_t each : {rows, keys}) builder_.tensor_object({each, "Tensor", 1});
  read();
  EXPECT_EQ(category(batch), Category::input_batch);
  EXPECT_EQ(category(sent), Category::input_batch);
  EXPECT_EQ(category(inside), Category::temporary);
  EXPECT_EQ(category(cached), Category::cache);
  EXPECT_EQ(category(shared), Category::cache);
  EXPECT_EQ(category(mine), Category::variable);
  EXPECT_EQ(evidence(mine), "train.py: total");
  EXPECT_EQ(category(listed), Category::container);
  EXPECT_EQ(evidence(listed), "held by train.py: history[2]");
  EXPECT_EQ(category(field), Category::output);
  EXPECT_EQ(category(element), Category::container);
  EXPECT_EQ(category(bucket), Category::communication_bucket);
  EXPECT_EQ(category(rows), Category::dataset);
  EXPECT_EQ(evidence(rows), "in a torch.utils.data.Dataset, data.x");
  EXPECT_EQ(category(keys), Category::kv_cache);
}

// What a graph was given is no activation, whichever view of it the graph saved.
TEST_F(HoldersTest, WhatAGraphWasGiven) {
  TensorSpec spec;
  spec.flags = uint32_t(TensorFlag::leaf);
  spec.site = in_main_;
  const uint64_t batch = tensor(spec), listed = tensor(spec);
  builder_.reference({listed, "batches[0]", "train.py", "list"});
  spec.storage_base = 0x900000;
  const uint64_t pixels = tensor(spec);
  spec.site = in_fc1_;
  spec.flags |= uint32_t(TensorFlag::view);
  const uint64_t view = tensor(spec);
  local(pixels, "pixels", "main");
  spec = {};
  spec.flags = uint32_t(TensorFlag::leaf);
  spec.site = in_fc1_;
  const uint64_t mask = tensor(spec);
  const uint32_t mm = node("MmBackward0", in_fc1_);
  for (const uint64_t each : {batch, listed, view, mask}) builder_.saved(mm, {each, 0});
  read();
  EXPECT_EQ(category(batch), Category::input_batch);
  EXPECT_EQ(evidence(batch), "no model made it, and MmBackward0.saved[0] saved it");
  EXPECT_EQ(category(listed), Category::container);
  EXPECT_EQ(category(pixels), Category::input_batch);
  EXPECT_EQ(category(mask), Category::saved_activation);
}

TEST_F(HoldersTest, PythonsWordIsBetterThanAGradient) {
  TensorSpec spec;
  spec.flags = kTrained;
  spec.grad = 0x1;
  const uint64_t perturbed = tensor(spec), trained = tensor(spec), unseen = tensor(spec);
  builder_.tensor_object({perturbed, "Tensor", 1});
  builder_.tensor_object({trained, "Tensor", 1, dump::WrapperState::referenced, true, false});
  read();
  EXPECT_EQ(category(perturbed), Category::unknown);
  EXPECT_EQ(category(trained), Category::parameter);
  EXPECT_EQ(category(unseen), Category::parameter);
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
}  // namespace tensorscope::model
