// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using ::testing::Contains;
using testing::Dumps;
using ::testing::ElementsAre;
using testing::kAdd;
using testing::kTanh;
using ::testing::Not;
using testing::Scene;
using testing::serial_at;
using testing::TensorSpec;

// The graph of one step: a node that saved an activation, and the loss above it.
uint32_t step_graph(Scene& scene, int step, uint32_t site, bool saves = true, std::vector<uint32_t> inputs = {}) {
  const uint32_t tanh = scene.node(serial_at(step, 10), kTanh, inputs);
  if (saves) scene.saved(serial_at(step, 20), 1024, site, tanh);
  return scene.node(serial_at(step, 30), kAdd, {tanh});
}

uint64_t with_graph(Scene& scene, uint64_t serial, uint32_t node, uint32_t site, const std::string& text,
                    format::ReferenceRoot root = format::ReferenceRoot::global, int64_t floats = 1) {
  TensorSpec tensor = scene.plain(serial, floats, site);
  tensor.grad_fn = scene.builder.graph_address(node);
  tensor.grad_fn_name = kAdd;
  const uint64_t made = scene.add(tensor);
  scene.held(made, text, root);
  scene.object(made);
  return made;
}

void losses(Scene& scene, bool saves) {
  const uint32_t site = scene.site(57), forward = scene.site(31, "forward");
  for (int step = 1; step <= scene.steps(); ++step) {
    const uint32_t node = step_graph(scene, step, forward, saves);
    with_graph(scene, serial_at(step, 40), node, site, "losses[" + std::to_string(step - 1) + "]");
  }
}

TEST(KeptGraphs, LossesThatAreKeptWithTheirGraphs) {
  for (const std::vector<int>& dumps : {std::vector<int>{10, 20, 30}, std::vector<int>{10, 20}}) {
    Dumps run([](Scene& scene) { losses(scene, true); }, dumps);
    ASSERT_THAT(run.kinds(), ElementsAre("accumulated-graph"));
    EXPECT_EQ(run.only().holders.at(0), "train.py: losses[0.." + std::to_string(dumps.back() - 1) + "]");
    EXPECT_EQ(run.only().bytes, uint64_t(dumps.back()) * 4100);
    // Both places are explained by it: where the losses were made, and where the activations were.
    ASSERT_EQ(run.leaks.places.size(), 2u);
    EXPECT_EQ(run.leaks.places[0].finding, 0u);
    EXPECT_EQ(run.leaks.places[1].finding, 0u);
  }
}

// What torch.func.vjp returns has the graph in its closure.
TEST(KeptGraphs, FunctionsThatHaveGraphsInTheirClosures) {
  Dumps run([](Scene& scene) {
    const uint32_t site = scene.site(57), forward = scene.site(31, "forward");
    for (int step = 1; step <= scene.steps(); ++step) {
      const uint32_t node = step_graph(scene, step, forward, true);
      with_graph(scene, serial_at(step, 40), node, site, "closure of pullbacks[" + std::to_string(step) + "]: value");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("accumulated-graph"));
  EXPECT_EQ(run.only().advice, Advice::bound_container);
}

TEST(KeptGraphs, AfterBackwardTheNodesStay) {
  Dumps run([](Scene& scene) { losses(scene, false); });
  ASSERT_THAT(run.kinds(), ElementsAre("graph-nodes"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: losses[0..29]");
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{20, 40, 60}));
}

TEST(KeptGraphs, DetachedLossesAreNone) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(serial_at(step, 10), 1, scene.site(57), "losses[" + std::to_string(step - 1) + "]");
    }
  });
  EXPECT_THAT(run.kinds(), ElementsAre());
  EXPECT_FALSE(run.leaks.found());
}

// total = total + loss
void running_sum(Scene& scene, bool saves) {
  const uint32_t site = scene.site(60), forward = scene.site(31, "forward");
  uint32_t sum = UINT32_MAX;
  for (int step = 1; step <= scene.steps(); ++step) {
    const uint32_t loss = step_graph(scene, step, forward, saves);
    sum = scene.node(serial_at(step, 50), kAdd, sum == UINT32_MAX ? std::vector{loss} : std::vector{sum, loss});
  }
  with_graph(scene, serial_at(scene.steps(), 60), sum, site, "total", format::ReferenceRoot::local);
}

TEST(KeptGraphs, ARunningSumOfLosses) {
  Dumps run([](Scene& scene) { running_sum(scene, true); });
  ASSERT_THAT(run.kinds(), ElementsAre("accumulated-graph"));
  EXPECT_EQ(run.only().holders.at(0), "total (local of main)");
  EXPECT_EQ(run.only().growth.bytes, (std::vector<uint64_t>{10 * 4096 + 4, 20 * 4096 + 4, 30 * 4096 + 4}));
}

// sum = sum + tanh(...)
uint32_t sum_of_activations(Scene& scene) {
  const uint32_t forward = scene.site(31, "forward");
  uint32_t sum = scene.node(serial_at(0, 1), kAdd);
  for (int step = 1; step <= scene.steps(); ++step) {
    const uint32_t tanh = scene.node(serial_at(step, 10), kTanh);
    scene.saved(serial_at(step, 20), 1024, forward, tanh);
    sum = scene.node(serial_at(step, 30), kAdd, {sum, tanh});
  }
  return sum;
}

// Sums of several things in one dict, of which one has a graph.
TEST(KeptGraphs, ARunningSumAmongDetachedOnes) {
  Dumps run([](Scene& scene) {
    const uint32_t site = scene.site(57), sum = sum_of_activations(scene);
    scene.kept(serial_at(scene.steps(), 40), 1, site, "sums['train']");
    scene.kept(serial_at(scene.steps(), 41), 1, site, "sums['count']");
    with_graph(scene, serial_at(scene.steps(), 42), sum, site, "sums['validation']");
  });
  ASSERT_THAT(run.kinds(), ElementsAre("accumulated-graph"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: sums['validation']");
}

// A mean of all losses beside the list that has each.
TEST(KeptGraphs, AMeanOfLossesThatAreKept) {
  const auto run_with = [](const std::string& mean) {
    return Dumps([mean](Scene& scene) {
      const uint32_t site = scene.site(57), forward = scene.site(31, "forward");
      uint32_t sum = scene.node(serial_at(0, 1), kAdd);
      for (int step = 1; step <= scene.steps(); ++step) {
        const uint32_t loss = step_graph(scene, step, forward);
        with_graph(scene, serial_at(step, 40), loss, site, "history.data[" + std::to_string(step - 1) + "]");
        sum = scene.node(serial_at(step, 50), kAdd, {sum, loss});
      }
      with_graph(scene, serial_at(scene.steps(), 60), sum, site, mean);
    });
  };
  Dumps attribute = run_with("history.mean");
  ASSERT_THAT(attribute.kinds(), ElementsAre("accumulated-graph"));
  EXPECT_THAT(attribute.only().holders, ElementsAre("train.py: history.data[0..29]"));
  EXPECT_EQ(attribute.only().also_held_by, "train.py: history.mean");
  EXPECT_LT(attribute.only().frees_alone, 4096u);
  EXPECT_EQ(run_with("mean").only().also_held_by, "");
}

// A mean that is computed from the sum leads to its graph as well; a variable of the step is assigned anew.
TEST(KeptGraphs, AMeanOfARunningSum) {
  const auto run_with = [](const std::string& mean) {
    return Dumps([mean](Scene& scene) {
      const uint32_t site = scene.site(57), sum = sum_of_activations(scene);
      with_graph(scene, serial_at(scene.steps(), 40), sum, site, "losses.sum");
      const uint32_t divided = scene.node(serial_at(scene.steps(), 50), kAdd, {sum});
      with_graph(scene, serial_at(scene.steps(), 60), divided, site, mean);
    });
  };
  Dumps attribute = run_with("losses.avg");
  ASSERT_THAT(attribute.kinds(), ElementsAre("accumulated-graph"));
  const std::string both = attribute.only().holders.at(0) + " " + attribute.only().also_held_by;
  EXPECT_NE(both.find("losses.sum"), std::string::npos) << both;
  EXPECT_NE(both.find("losses.avg"), std::string::npos) << both;
  EXPECT_EQ(run_with("mean").only().also_held_by, "");
}

// The graph saved a view of the weight in each step; the weight stays when it goes.
TEST(KeptGraphs, TheMemoryOfAWeightIsNotTheGraphs) {
  constexpr int64_t kWeight = 1 << 20;
  Dumps run([](Scene& scene) {
    scene.kept(800, kWeight, scene.site(5), "model.weight");
    const uint32_t forward = scene.site(31, "forward");
    uint32_t hidden = UINT32_MAX;
    for (int step = 1; step <= scene.steps(); ++step) {
      hidden = step_graph(scene, step, forward, true,
                          hidden == UINT32_MAX ? std::vector<uint32_t>{} : std::vector<uint32_t>{hidden});
      TensorSpec view;
      view.serial = serial_at(step, 25);
      view.address = Scene::address(view.serial);
      view.sizes = {kWeight};
      view.storage_base = 0x100000000000 + 800 * uint64_t(0x100000000);
      view.site = forward;
      testing::SavedSpec slot;
      slot.tensor = scene.add(view);
      scene.builder.saved(hidden, slot);
    }
    with_graph(scene, serial_at(scene.steps(), 60), hidden, scene.site(22), "hidden", format::ReferenceRoot::local,
               1024);
  });
  ASSERT_THAT(run.kinds(), ElementsAre("state-not-detached"));
  for (const CreationSite& made : run.only().memory) {
    EXPECT_NE(run.last().view().places.at(made.site).where, "train.py:5 step");
  }
  ASSERT_FALSE(run.only().memory.empty());
}

// Half of what the graph of a sum saved is in other hands, too: all of it stays as long as the sum does.
TEST(KeptGraphs, ARunningSumWhoseActivationsOthersHaveToo) {
  Dumps run([](Scene& scene) {
    const uint32_t site = scene.site(57), forward = scene.site(31, "forward");
    uint32_t sum = scene.node(serial_at(0, 1), kAdd);
    for (int step = 1; step <= scene.steps(); ++step) {
      const uint32_t tanh = scene.node(serial_at(step, 10), kTanh);
      scene.saved(serial_at(step, 20), 1024, forward, tanh);
      const uint64_t shared = scene.saved(serial_at(step, 25), 4096, forward, tanh);
      scene.held(shared, "outputs", format::ReferenceRoot::extension);
      scene.object(shared);
      sum = scene.node(serial_at(step, 30), kAdd, {sum, tanh});
    }
    with_graph(scene, serial_at(scene.steps(), 40), sum, site, "total");
  });
  ASSERT_FALSE(run.leaks.findings.empty());
  EXPECT_EQ(run.only().holders.at(0), "train.py: total");
  EXPECT_EQ(run.only().growth.added_bytes(), 20 * (4096 + 16384));
}

TEST(KeptGraphs, ARunningSumAfterBackward) {
  Dumps run([](Scene& scene) { running_sum(scene, false); });
  ASSERT_THAT(run.kinds(), ElementsAre("graph-nodes"));
  EXPECT_EQ(run.only().holders.at(0), "total (local of main)");
}

// hidden = tanh(hidden), and what else the last step made of it. What was detached is gone.
void recurrent(Scene& scene, int detached_every) {
  const uint32_t site = scene.site(22), forward = scene.site(31, "forward");
  uint32_t hidden = UINT32_MAX, before = UINT32_MAX;
  const int first = detached_every == 0 ? 1 : (scene.steps() - 1) / detached_every * detached_every + 1;
  for (int step = first; step <= scene.steps(); ++step) {
    before = hidden;
    hidden = step_graph(scene, step, forward, true,
                        hidden == UINT32_MAX ? std::vector<uint32_t>{} : std::vector<uint32_t>{hidden});
  }
  const int step = scene.steps();
  const uint32_t out = scene.node(serial_at(step, 70), kTanh, {hidden});
  with_graph(scene, serial_at(step, 60), hidden, site, "self.hidden", format::ReferenceRoot::local, 64);
  with_graph(scene, serial_at(step, 80), out, site, "out", format::ReferenceRoot::local, 64);
  if (before != UINT32_MAX)
    with_graph(scene, serial_at(step - 1, 60), before, site, "x", format::ReferenceRoot::local, 64);
}

TEST(KeptGraphs, AHiddenStateThatIsNotDetached) {
  for (const std::vector<int>& dumps : {std::vector<int>{10, 20, 30}, std::vector<int>{10, 20}}) {
    Dumps run([](Scene& scene) { recurrent(scene, 0); }, dumps);
    ASSERT_THAT(run.kinds(), ElementsAre("state-not-detached"));
    EXPECT_THAT(run.only().holders, ElementsAre("self.hidden (local of main)"));
    // What was computed from it holds the graph, too.
    EXPECT_GE(run.only().bytes, uint64_t(dumps.back() - 1) * 4096);
  }
}

// The second state is made of itself and of the first: to detach either leaves the other's graph.
TEST(KeptGraphs, StatesThatKeepTheirGraphsWithoutEachOther) {
  Dumps run([](Scene& scene) {
    const uint32_t site = scene.site(22), forward = scene.site(31, "forward");
    std::vector<uint32_t> first, second;
    for (int step = 1; step <= scene.steps(); ++step) {
      first = {step_graph(scene, step, forward, true, first)};
      std::vector<uint32_t> inputs = {first.front()};
      inputs.insert(inputs.end(), second.begin(), second.end());
      second = {scene.node(serial_at(step, 50), kTanh, inputs)};
      scene.saved(serial_at(step, 52), 1024, forward, second.front());
    }
    with_graph(scene, serial_at(scene.steps(), 60), first.front(), site, "lif1.mem", format::ReferenceRoot::global, 64);
    with_graph(scene, serial_at(scene.steps(), 80), second.front(), site, "lif2.mem", format::ReferenceRoot::global,
               64);
  });
  ASSERT_THAT(run.kinds(), ElementsAre("state-not-detached"));
  EXPECT_THAT(run.only().holders, ElementsAre("train.py: lif2.mem", "train.py: lif1.mem"));
}

TEST(KeptGraphs, AStateThatIsDetachedIsNone) {
  for (int every : {1, 7}) {
    Dumps run([&](Scene& scene) { recurrent(scene, every); }, {12, 23, 34});
    EXPECT_THAT(run.kinds(), ElementsAre());
    EXPECT_FALSE(run.leaks.found());
  }
}

// A weight whose gradient is the sum of those of all passes, or of the last one alone.
Dumps gradients(bool added_up) {
  return Dumps([=](Scene& scene) {
    const uint32_t backward = scene.site(46);
    uint32_t sum = UINT32_MAX;
    for (int step = added_up ? 1 : scene.steps(); step <= scene.steps(); ++step) {
      sum = step_graph(scene, step, backward, true,
                       sum == UINT32_MAX ? std::vector<uint32_t>{} : std::vector<uint32_t>{sum});
    }
    TensorSpec gradient = scene.plain(serial_at(scene.steps(), 60), 16, backward);
    gradient.grad_fn = scene.builder.graph_address(sum);
    scene.add(gradient);
    TensorSpec weight = scene.plain(800, 16, scene.site(5));
    weight.grad = gradient.address;
    weight.flags = uint32_t(format::TensorFlag::leaf) | uint32_t(format::TensorFlag::requires_grad);
    const uint64_t serial = scene.add(weight);
    scene.held(serial, "model.weight", format::ReferenceRoot::global, format::ReferenceRole::parameter);
    scene.object(serial, true, true);
  });
}

TEST(KeptGraphs, GradientsWithTheGraphsOfAllPasses) {
  Dumps run = gradients(true);
  ASSERT_THAT(run.kinds(), ElementsAre("accumulated-graph"));
  EXPECT_EQ(run.only().holders, (std::vector<std::string>{"model.weight.grad"}));
  EXPECT_EQ(run.only().growth.bytes, (std::vector<uint64_t>{10 * 4096 + 64, 20 * 4096 + 64, 30 * 4096 + 64}));
  EXPECT_EQ(run.only().advice, Advice::no_create_graph);
  EXPECT_THAT(gradients(false).kinds(), ElementsAre());
}

TEST(KeptGraphs, NodesThatAreKeptByThemselves) {
  auto program = [](Scene& scene, int kept) {
    for (int step = 1; step <= scene.steps(); ++step) {
      if (step <= scene.steps() - kept) continue;
      const uint32_t node = scene.node(serial_at(step, 1), kAdd);
      for (int i = 2; i < 12; ++i) scene.node(serial_at(step, i), kTanh, {node});
      scene.builder.node_reference(node, "functions[" + std::to_string(step) + "]", "train.py");
    }
  };
  Dumps run([&](Scene& scene) { program(scene, 1000); });
  ASSERT_THAT(run.kinds(), ElementsAre("graph-nodes"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: functions[*]");
  EXPECT_THAT(Dumps([&](Scene& scene) { program(scene, 1); }).kinds(), ElementsAre());
}

// What a ctx has as an attribute hangs on its node: few nodes may keep much.
TEST(KeptGraphs, FewNodesThatKeepMuch) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const uint32_t node = scene.node(serial_at(step, 1), kTanh);
      scene.saved(serial_at(step, 10), 8192, scene.site(17), node);
      scene.builder.node_reference(node, "Swish.trace[" + std::to_string(step) + "]", "train.py");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: Swish.trace[*]");
  EXPECT_EQ(run.only().growth.bytes, (std::vector<uint64_t>{10 * 32768, 20 * 32768, 30 * 32768}));
  EXPECT_EQ(run.only().advice, Advice::drop_nodes);
  ASSERT_EQ(run.leaks.places.size(), 1u);
  EXPECT_EQ(run.leaks.places[0].finding, 0u);
}

// Where not all of Python was looked through, anything in it may refer to them.
TEST(KeptGraphs, WhoKeepsNodesIsNotConcludedFromWhatWasNotSeen) {
  for (const bool seen : {true, false}) {
    Dumps run([&](Scene& scene) {
      scene.builder.references_complete = seen;
      for (int step = 1; step <= scene.steps(); ++step) {
        const uint32_t node = scene.node(serial_at(step, 1), kAdd);
        for (int i = 2; i < 12; ++i) scene.node(serial_at(step, i), kTanh, {node});
      }
    });
    ASSERT_THAT(run.kinds(), ElementsAre("graph-nodes"));
    EXPECT_EQ(run.only().advice, seen ? Advice::find_node_holder : Advice::holder_not_seen);
    const auto counts_nodes = [](const Fact& fact) { return fact.kind == FactKind::python_nodes; };
    EXPECT_EQ(std::ranges::count_if(run.only().evidence, counts_nodes), seen ? 1 : 0);
  }
}

}  // namespace
}  // namespace tensorscope::analyzer
