// SPDX-License-Identifier: Apache-2.0
#include "values/call_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensorscope::values {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Calls as a program makes them: begin(), end(), with a clock of its own.
class CallLog {
 public:
  // The call's index in `calls`.
  uint64_t begin(const std::string& module, const std::string& class_name = "") {
    texts_.push_back(std::make_unique<std::string>(module));
    Call call;
    call.module = *texts_.back();
    texts_.push_back(std::make_unique<std::string>(class_name));
    call.class_name = *texts_.back();
    call.id = ++last_id_;
    call.parent = open_.empty() ? 0 : open_.back().id;
    call.begin_ns = now_;
    call.step = step;
    call.pass = step;
    call.mode = format::StepMode::train;
    call.thread = 7;
    call.live_before = live;
    call.peak = live;
    open_.push_back(call);
    return call.id;
  }
  Call& end(uint64_t time = 0) {
    now_ += time;
    Call call = open_.back();
    open_.pop_back();
    call.end_ns = now_;
    call.live_after = live;
    calls.push_back(call);
    return calls.back();
  }
  // A call of `time` without others in it.
  Call& leaf(const std::string& module, uint64_t time = 1, const std::string& class_name = "Linear") {
    begin(module, class_name);
    return end(time);
  }

  std::vector<Call> calls;
  uint32_t step = 0;
  uint64_t live = 100;

 private:
  uint64_t last_id_ = 0, now_ = 1000;
  std::vector<Call> open_;
  std::vector<std::unique_ptr<std::string>> texts_;
};

// "model(layers(attn mlp) head)".
std::string shown(const CallTree& tree, const std::vector<uint32_t>& nodes) {
  std::string text;
  for (uint32_t index : nodes) {
    const CallNode& node = tree.nodes[index];
    text += (text.empty() ? "" : " ") + node.name;
    for (uint64_t number : node.indices) text += "." + std::to_string(number);
    if (!node.children.empty()) text += "(" + shown(tree, node.children) + ")";
  }
  return text;
}
std::string shown(const CallLog& run, const CallTreeOptions& options = {}) {
  const CallTree tree = call_tree(CallSequence(run.calls), options);
  return shown(tree, tree.roots);
}

const CallNode& node(const CallTree& tree, const std::string& path) {
  for (const CallNode& each : tree.nodes) {
    if (each.path == path) return each;
  }
  ADD_FAILURE() << path;
  return tree.nodes.front();
}

// Twelve equal layers and a head, twice.
CallLog transformer(size_t layers = 12) {
  CallLog run;
  for (run.step = 0; run.step < 2; ++run.step) {
    run.begin("model", "Model");
    for (size_t i = 0; i < layers; ++i) {
      const std::string layer = "model.layers." + std::to_string(i);
      run.begin(layer, "Block");
      run.leaf(layer + ".attn", 3);
      run.leaf(layer + ".mlp", 5);
      run.end(2);
    }
    run.leaf("model.head", 10);
    run.end(1);
  }
  return run;
}

TEST(CallTree, EqualSiblingsAreOneNodeWithTheirNumbersInOrder) {
  EXPECT_EQ(shown(transformer()), "model(layers.0.1.2.3.4.5.6.7.8.9.10.11(attn mlp) head)");
  EXPECT_EQ(shown(transformer(2), {.fold = false}), "model(layers(layers.0(attn mlp) layers.1(attn mlp)) head)");
}

TEST(CallTree, NumbersAreOfEachParentByItself) {
  CallLog run;
  run.begin("model", "Model");
  for (const char* expert : {"0.experts.0", "1.experts.1", "1.experts.2", "2.experts.1", "2.experts.2"}) {
    run.leaf(std::string("model.layers.") + expert);
  }
  run.end();
  EXPECT_EQ(shown(run), "model(layers.0(experts.0) layers.1.2(experts.1.2))");
}

TEST(CallTree, ALayerOfAnotherClassStaysApart) {
  CallLog run;
  run.begin("model", "Sequential");
  for (int i = 0; i < 5; ++i) run.leaf("model." + std::to_string(i), 1, i % 2 == 0 ? "Linear" : "ReLU");
  run.end();
  EXPECT_EQ(shown(run), "model(model.0.2.4 model.1.3)");
}

TEST(CallTree, ALeadingNumberIsAName) {
  CallLog run;
  run.leaf("0.weight");
  run.leaf("1.weight");
  EXPECT_EQ(shown(run), "0(weight) 1(weight)");
}

TEST(CallTree, TimesCountOnceAndSelfIsWithoutChildren) {
  const CallTree tree = call_tree(CallSequence(transformer().calls), {});
  const CallNode& model = node(tree, "model");
  EXPECT_EQ(model.calls, 2);
  EXPECT_EQ(model.total_ns, 2 * (12 * 10 + 10 + 1));
  EXPECT_EQ(model.self_ns, 2);
  const CallNode& layers = node(tree, "model.layers.0");
  EXPECT_EQ(layers.calls, 24);
  EXPECT_EQ(layers.modules, 12);
  EXPECT_EQ(layers.total_ns, 24 * 10);
  EXPECT_EQ(layers.self_ns, 24 * 2);
  EXPECT_EQ(node(tree, "model.layers.0.mlp").total_ns, 24 * 5);
  EXPECT_EQ(layers.class_name, "Block");
  EXPECT_THAT(layers.order, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_THAT(node(tree, "model.head").order, ElementsAre(13));
  EXPECT_THAT(node(tree, "model.layers.0.mlp").order, ElementsAre(2));
}

TEST(CallTree, AModuleThatOnlyHoldsOthersHasTheirTime) {
  const CallTree tree = call_tree(CallSequence(transformer(3).calls), {.fold = false});
  const CallNode& holder = node(tree, "model.layers");
  EXPECT_EQ(holder.calls, 0);
  EXPECT_EQ(holder.total_ns, 2 * 3 * 10);
  EXPECT_EQ(holder.self_ns, 0);
}

TEST(CallTree, ACallWithinACallOfTheSameModuleCountsOnce) {
  CallLog run;
  run.begin("tree", "Tree");
  run.begin("tree", "Tree");
  run.end(5);
  run.end(2);
  const CallTree tree = call_tree(CallSequence(run.calls), {});
  EXPECT_EQ(tree.nodes[0].calls, 2);
  EXPECT_EQ(tree.nodes[0].total_ns, 7);
  EXPECT_EQ(tree.nodes[0].self_ns, 7);
}

TEST(CallTree, MemoryIsThatOfTheHighestPeakAndSavedThatOfAPass) {
  CallLog run;
  for (run.step = 0; run.step < 2; ++run.step) {
    run.begin("model");
    run.leaf("model.a").saved = 10 + run.step;
    run.calls.back().peak = 500 - 100 * run.step;
    run.leaf("model.a").saved = 5;
    run.end().saved = 15;
  }
  const CallTree tree = call_tree(CallSequence(run.calls), {});
  EXPECT_EQ(node(tree, "model.a").peak, 500);
  EXPECT_EQ(node(tree, "model.a").live_before, 100);
  EXPECT_EQ(node(tree, "model.a").saved, 16);
  EXPECT_EQ(node(tree, "model").saved, 15) << "what is saved within a call is the call's already";
}

TEST(CallTree, BackwardHasTimesOfItsOwn) {
  CallLog run;
  const uint64_t model = run.begin("model");
  const uint64_t inner = run.begin("model.a");
  run.end(4);
  run.end();
  for (const auto& [module, forward, time] : {std::tuple{"model", model, 30}, {"model.a", inner, 20}}) {
    Call& call = run.leaf(module, uint64_t(time));
    call.backward = true;
    call.parent = forward;
  }
  const CallTree tree = call_tree(CallSequence(run.calls), {});
  EXPECT_EQ(node(tree, "model").calls, 1);
  EXPECT_EQ(node(tree, "model").backward_calls, 1);
  EXPECT_EQ(node(tree, "model").backward_ns, 30) << "what is below is in it";
  EXPECT_EQ(node(tree, "model.a").backward_ns, 20);
  EXPECT_EQ(node(tree, "model.a").total_ns, 4);
  EXPECT_EQ(node(tree, "model").self_ns, 0);
}

TEST(CallTree, BackwardOfLeavesAloneIsAddedUp) {
  CallLog run;
  run.begin("model");
  std::vector<uint64_t> forwards;
  for (const char* module : {"model.a", "model.b"}) {
    forwards.push_back(run.begin(module));
    run.end(1);
  }
  run.end();
  for (uint64_t forward : forwards) {
    Call& call = run.leaf(forward == forwards[0] ? "model.a" : "model.b", 6);
    call.backward = true;
    call.parent = forward;
  }
  EXPECT_EQ(node(call_tree(CallSequence(run.calls), {}), "model").backward_ns, 12);
}

TEST(CallTree, LeavesAreCutAndARootStays) {
  EXPECT_EQ(shown(transformer(2), {.prune = true}), "model(layers.0.1)");
  CallLog run;
  run.leaf("model");
  EXPECT_EQ(shown(run, {.prune = true}), "model");
}

TEST(CallTree, DepthIsOfLevels) {
  EXPECT_EQ(shown(transformer(2), {.depth = 1}), "model");
  EXPECT_EQ(shown(transformer(2), {.depth = 2}), "model(layers.0.1 head)");
}

TEST(CallTree, OneStepAlone) {
  const CallSequence sequence(transformer().calls, 1);
  EXPECT_EQ(sequence.counts().forward, 1 + 12 * 3 + 1);
  EXPECT_EQ(sequence.counts().first_step, 1);
  EXPECT_THAT(CallSequence(transformer().calls, 5).calls(), IsEmpty());
}

TEST(CallTree, CallsThatRaisedOrNeverEndedAreCounted) {
  CallLog run;
  run.begin("model");
  run.leaf("model.a").raised = true;
  Call& cut = run.leaf("model.b");
  cut.unfinished = true;
  cut.end_ns = 0;
  run.leaf("model.c", 8);
  const CallSequence sequence(run.calls);  // the call of the model itself never got a row
  EXPECT_EQ(sequence.counts().raised, 1);
  EXPECT_EQ(sequence.counts().unfinished, 2);
  const CallTree tree = call_tree(sequence, {});
  EXPECT_EQ(node(tree, "model.a").raised, 1);
  EXPECT_EQ(node(tree, "model.b").unfinished, 1);
  EXPECT_EQ(node(tree, "model.b").total_ns, 9) << "up to the last thing that is known";
  EXPECT_EQ(node(tree, "model").calls, 0);
  EXPECT_EQ(node(tree, "model").total_ns, 1 + 9 + 8);
}

TEST(CallTree, WhatTheFileSaysOfParentsMakesNoLoop) {
  CallLog run;
  run.leaf("a").parent = 2;
  run.leaf("b").parent = 2;
  const CallSequence sequence(run.calls);
  EXPECT_EQ(sequence.parent(0), CallSequence::kNoCall);
  EXPECT_EQ(sequence.parent(1), CallSequence::kNoCall);
}

TEST(CallTree, PathsHaveDotsAndBracketsAndAnEnd) {
  EXPECT_THAT(path_names("model.blocks[3].fc"), ElementsAre("model", "blocks", "3", "fc"));
  EXPECT_THAT(path_names("..a"), ElementsAre(".", "a"));
  std::string deep = "a";
  for (int i = 0; i < 100000; ++i) deep += ".a";
  EXPECT_EQ(path_names(deep).size(), kDeepestPath);
  CallLog run;
  run.leaf(deep);
  EXPECT_EQ(call_tree(CallSequence(run.calls), {}).nodes.size(), kDeepestPath);
}

const SquashedCalls::Node* named(const SquashedCalls& calls, const std::string& name) {
  for (const SquashedCalls::Node& each : calls.nodes) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::vector<std::string> edges(const SquashedCalls& calls) {
  std::vector<std::string> result;
  for (const SquashedCalls::Edge& edge : calls.edges) {
    result.push_back(calls.nodes[edge.from].name + (edge.loop ? " ^ " : " > ") + calls.nodes[edge.to].name);
  }
  return result;
}

TEST(SquashedCalls, EqualNamesAreOneNodeAndCountsAddUp) {
  CallLog run;
  run.begin("model");
  for (const char* path : {"model.encoder.norm", "model.decoder.norm", "model.norm"}) run.leaf(path, 2);
  run.end();
  const SquashedCalls calls = squash(call_tree(CallSequence(run.calls), {}));
  ASSERT_EQ(calls.nodes.size(), 4);
  EXPECT_EQ(named(calls, "norm")->calls, 3);
  EXPECT_EQ(named(calls, "norm")->modules, 3);
  EXPECT_EQ(named(calls, "norm")->total_ns, 6);
  EXPECT_THAT(edges(calls), UnorderedElementsAre("model > encoder", "encoder > norm", "model > decoder",
                                                 "decoder > norm", "model > norm"));
}

TEST(SquashedCalls, NumberedOnesAreWhatHoldsThem) {
  CallLog run = transformer(3);
  for (const bool fold : {true, false}) {
    const SquashedCalls calls = squash(call_tree(CallSequence(run.calls), {.fold = fold}));
    EXPECT_EQ(named(calls, "layers")->calls, 6) << fold;
    EXPECT_THAT(edges(calls), UnorderedElementsAre("model > layers", "layers > attn", "layers > mlp", "model > head"));
  }
}

TEST(SquashedCalls, AnEdgeThatClosesALoopIsMarked) {
  CallLog run;
  run.leaf("block.norm.block.norm", 4);
  const SquashedCalls calls = squash(call_tree(CallSequence(run.calls), {}));
  EXPECT_THAT(edges(calls), UnorderedElementsAre("block > norm", "norm ^ block"));
  EXPECT_EQ(named(calls, "norm")->total_ns, 4) << "one within another counts once";
}

}  // namespace
}  // namespace tensorscope::values
