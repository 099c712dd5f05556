// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/leaks/{added_entries,births,module_calls,named_entries,site_beginnings}.cc
#include "leaks/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using format::ReferenceRoot;
using testing::Dumps;
using ::testing::ElementsAre;
using testing::Scene;
using testing::serial_at;

void keeps_entries(Scene& scene, int from, int to, int freed = 0) {
  const uint32_t site = scene.site(12);
  for (int i = 0; i < freed; ++i) scene.builder.freed(site, 8192);
  for (int step = from; step <= to; ++step) {
    scene.kept(serial_at(step, 10), 2048, site, "kept[" + std::to_string(step) + "]");
  }
}

Dumps one_dump(const Dumps::Program& program) { return Dumps(program, {30}); }

TEST(Suspects, AListThatWasFedInEveryStep) {
  Dumps run = one_dump([](Scene& scene) { keeps_entries(scene, 1, scene.steps()); });
  EXPECT_THAT(run.kinds(), ElementsAre());
  EXPECT_FALSE(run.leaks.found());
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  const Suspect& suspect = run.leaks.suspects[0];
  EXPECT_EQ(suspect.kind, Suspect::Kind::variable);
  EXPECT_EQ(suspect.holder, "train.py: kept[1..30]");
  EXPECT_EQ(suspect.bytes, 30u * 8192);
  EXPECT_EQ(suspect.generations, 30u);
  EXPECT_EQ(suspect.made, 30u);
  EXPECT_EQ(suspect.kept, 30u);
}

// The program's steps end at these serials, after everything that a step of the scene makes.
void steps_end(Scene& scene, const std::vector<int>& steps) {
  scene.builder.step_source = format::StepSource::optimizer;
  for (int step : steps) scene.builder.step_ends.push_back(serial_at(step, 999));
}

TEST(Suspects, StepsAreCountedWhereTheyWereSeen) {
  Dumps run = one_dump([](Scene& scene) {
    for (int step : {5, 10, 15, 20, 25})
      scene.kept(serial_at(step, 10), 8192, scene.site(12), "kept[" + std::to_string(step) + "]");
    std::vector<int> all;
    for (int step = 1; step < scene.steps(); ++step) all.push_back(step);
    steps_end(scene, all);
  });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  const Suspect& suspect = run.leaks.suspects[0];
  EXPECT_EQ(suspect.generations, 5u);
  EXPECT_EQ(suspect.steps, 5u);
  EXPECT_EQ(suspect.of_steps, 21u);
  EXPECT_EQ(bytes_each_step(suspect), (32768u + 4) / 5);
}

// A batch that is loaded before its forward pass counts for the step before, so that the first step has two.
TEST(Suspects, BytesOfAStepAreWithoutThoseOfTheFirst) {
  Dumps run = one_dump([](Scene& scene) {
    scene.kept(serial_at(1, 5), 2048, scene.site(12), "kept[0]");
    keeps_entries(scene, 1, scene.steps());
    std::vector<int> steps(size_t(scene.steps()) - 1);
    std::iota(steps.begin(), steps.end(), 1);
    steps_end(scene, steps);
  });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_EQ(run.leaks.suspects[0].count, 31u);
  EXPECT_EQ(bytes_each_step(run.leaks.suspects[0]), 8192u);
}

// What is created in less than 10 ms counts as created at one time, except in steps of the program, or where the
// program did not do much else.
TEST(Suspects, StepsMayBeShort) {
  for (const bool steps_are_known : {false, true}) {
    Dumps run = one_dump([&](Scene& scene) {
      scene.builder.ns_each_serial = 100;
      for (int step = scene.steps() - 3; step <= scene.steps(); ++step) {
        scene.kept(serial_at(step, 10), 8192, scene.site(12), "kept[" + std::to_string(step) + "]");
      }
      std::vector<int> steps(size_t(scene.steps()) - 1);
      std::iota(steps.begin(), steps.end(), 1);
      if (steps_are_known) steps_end(scene, steps);
    });
    EXPECT_EQ(run.leaks.suspects.size(), steps_are_known ? 1u : 0u);
  }
}

TEST(Suspects, OfLikeSizeTheOneOfMoreStepsIsFirst) {
  Dumps run = one_dump([](Scene& scene) {
    keeps_entries(scene, 1, scene.steps());
    for (int step = 5; step <= scene.steps(); step += 5) {
      scene.kept(serial_at(step, 50), 10400, scene.site(40), "best[" + std::to_string(step) + "]");
    }
  });
  ASSERT_EQ(run.leaks.suspects.size(), 2u);
  EXPECT_EQ(run.leaks.suspects[0].holder, "train.py: kept[1..30]");
  EXPECT_LT(run.leaks.suspects[0].bytes, run.leaks.suspects[1].bytes);
}

TEST(Suspects, StateOfAnOptimizerIsOneOnlyOfManySteps) {
  for (const bool steps_are_known : {false, true}) {
    Dumps run = one_dump([&](Scene& scene) {
      std::vector<int> steps;
      for (int step = 1; step <= scene.steps(); ++step) {
        const uint64_t made = scene.add(scene.plain(serial_at(step, 10), 2048, scene.site(12)));
        scene.held(made, "LBFGS.state['a'].old_dirs[" + std::to_string(step) + "]", ReferenceRoot::global,
                   format::ReferenceRole::optimizer_state);
        // While the optimizer makes it, its own lists have it, too.
        if (!steps_are_known) scene.held(made, "dirs[" + std::to_string(step) + "]", ReferenceRoot::local);
        scene.object(made);
        if (step < scene.steps()) steps.push_back(step);
      }
      if (steps_are_known) steps_end(scene, steps);
    });
    EXPECT_EQ(run.leaks.suspects.size(), steps_are_known ? 1u : 0u);
  }
}

// A list of a function `main` that runs, which may be that of a module's forward.
Dumps a_local_list(uint64_t module_object, const std::vector<int>& ends = {}) {
  return one_dump([&](Scene& scene) {
    if (!ends.empty()) steps_end(scene, ends);
    const uint32_t site = scene.builder.site(
        0, scene.builder.python(
               {{"train.py", "<module>", 1}, {"module.py", "call", 5, false, module_object}, {"train.py", "main", 9}}));
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(serial_at(step, 10), 2048, site, "outs[" + std::to_string(step) + "]", ReferenceRoot::local);
    }
  });
}

TEST(Suspects, WhatAModulesCallKeepsWhileItRunsIsNone) {
  EXPECT_EQ(a_local_list(0).leaks.suspects.size(), 1u);
  EXPECT_TRUE(a_local_list(0x1000).leaks.suspects.empty());
  EXPECT_EQ(a_local_list(0x1000, {5, 10, 15, 20, 25}).leaks.suspects.size(), 1u);
}

TEST(Suspects, ParametersThatNoVariableExplainsAreNone) {
  Dumps run = one_dump([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const uint64_t made = scene.add(scene.plain(serial_at(step, 10), 2048, scene.site(12)));
      scene.object(made, true, true);
    }
  });
  EXPECT_TRUE(run.leaks.suspects.empty());
}

// A module dictionary that gets an entry in each of some steps. Each entry is called in the steps that `called` says.
struct Adapters {
  int first = 1, last = 30;  // steps
  int64_t floats_more_each = 0;
  std::function<bool(int)> called = [](int) { return true; };
  bool all_at_the_start = false;
  int made_in_calls = 40;  // of each entry
  bool numbers = false, optimized = false;
};

void adapters(Scene& scene, const Adapters& how) {
  const uint32_t added = scene.site(12, "load_adapter");
  for (int step = how.first; step <= std::min(how.last, scene.steps()); ++step) {
    const std::string name =
        (how.numbers ? "" : "adapter" + std::string(1, char('a' + (step - 1) % 26))) + std::to_string(step);
    const uint64_t serial = how.all_at_the_start ? uint64_t(1000 + step * 20) : serial_at(step, 10);
    const uint64_t made = scene.add(scene.plain(serial, 2048 + step * how.floats_more_each, added));
    scene.held(made, "model.lora." + name + ".weight", ReferenceRoot::global, format::ReferenceRole::parameter);
    scene.object(made, how.optimized, true);
    if (!how.called(step)) continue;
    const uint64_t module = 0x900000 + uint64_t(step) * 64;
    scene.builder.module_name(module, "model.lora." + name, "Linear");
    const uint32_t forward =
        scene.builder.site(0, scene.builder.python({{.file = "/home/user/train.py", .function = "step", .line = 30},
                                                    {.file = "/usr/lib/torch/nn/modules/module.py",
                                                     .function = "_call_impl",
                                                     .line = 5,
                                                     .module_object = module}}));
    for (int i = 0; i < how.made_in_calls; ++i) scene.builder.freed(forward, 4096);
  }
}

TEST(Suspects, EntriesOfAModuleThatAreAddedInUse) {
  Dumps run = one_dump([](Scene& scene) { adapters(scene, {}); });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_EQ(run.leaks.suspects[0].holder, "model.lora.*.weight");
  EXPECT_EQ(run.leaks.suspects[0].bytes, 30u * 8192);
  EXPECT_EQ(run.leaks.suspects[0].generations, 30u);
  EXPECT_FALSE(run.leaks.found());
}

TEST(Suspects, EntriesThatWereNotCalledAreAModelThatIsBeingBuilt) {
  Dumps none = one_dump([](Scene& scene) { adapters(scene, {.called = [](int) { return false; }}); });
  EXPECT_TRUE(none.leaks.suspects.empty());
  Dumps called_at_first =
      one_dump([](Scene& scene) { adapters(scene, {.called = [](int step) { return step < 20; }}); });
  EXPECT_TRUE(called_at_first.leaks.suspects.empty());
  Dumps all_but_the_newest =
      one_dump([](Scene& scene) { adapters(scene, {.called = [](int step) { return step != 30; }}); });
  ASSERT_EQ(all_but_the_newest.leaks.suspects.size(), 1u);
  EXPECT_EQ(all_but_the_newest.leaks.suspects[0].bytes, 29u * 8192);
}

TEST(Suspects, EntriesThatAreCalledForTheFirstTimeAfterAllWereMadeAreNone) {
  Dumps run = one_dump([](Scene& scene) { adapters(scene, {.made_in_calls = 2}); });
  EXPECT_TRUE(run.leaks.suspects.empty());
}

TEST(Suspects, EntriesThatWereAddedAtTheStartOrAreNotAlikeAreNone) {
  Dumps built = one_dump([](Scene& scene) { adapters(scene, {.all_at_the_start = true}); });
  EXPECT_TRUE(built.leaks.suspects.empty());
  Dumps loaded = one_dump([](Scene& scene) { adapters(scene, {.last = 28}); });
  EXPECT_TRUE(loaded.leaks.suspects.empty());
  Dumps heads = one_dump([](Scene& scene) { adapters(scene, {.floats_more_each = 16}); });
  EXPECT_TRUE(heads.leaks.suspects.empty());
  Dumps three = one_dump([](Scene& scene) { adapters(scene, {.first = 28}); });
  EXPECT_TRUE(three.leaks.suspects.empty());
}

// A list of modules whose entries have numbers, beside a part of the model that is trained.
TEST(Suspects, EntriesWithNumbersAreThoseThatAreAddedInStepsAndNeverTrained) {
  const auto suspected = [](const Adapters& how, bool trains, bool steps_known) {
    Dumps run = one_dump([&](Scene& scene) {
      const uint64_t trunk = scene.add(scene.plain(800, 16, scene.site(3, "build")));
      scene.held(trunk, "model.trunk.weight", ReferenceRoot::global, format::ReferenceRole::parameter);
      scene.object(trunk, trains, true);
      adapters(scene, how);
      std::vector<int> all(size_t(scene.steps() - 1));
      std::iota(all.begin(), all.end(), 1);
      if (steps_known) steps_end(scene, all);
    });
    for (const Suspect& suspect : run.leaks.suspects) EXPECT_EQ(suspect.holder, "model.lora.*.weight");
    return run.leaks.suspects.size();
  };
  EXPECT_EQ(suspected({.numbers = true}, true, true), 1u);
  EXPECT_EQ(suspected({.numbers = true, .optimized = true}, true, true), 0u);
  EXPECT_EQ(suspected({.numbers = true}, false, true), 0u);
  EXPECT_EQ(suspected({.numbers = true}, true, false), 0u);
  EXPECT_EQ(suspected({.all_at_the_start = true, .numbers = true}, true, true), 0u);
  EXPECT_EQ(suspected({.last = 28, .numbers = true}, true, true), 0u);
}

TEST(Suspects, SeveralDumpsHaveNone) {
  Dumps run([](Scene& scene) { keeps_entries(scene, 1, scene.steps()); });
  EXPECT_TRUE(run.leaks.suspects.empty());
}

TEST(Suspects, AQueueHasFreedMoreThanItHolds) {
  Dumps run = one_dump([](Scene& scene) { keeps_entries(scene, scene.steps() - 9, scene.steps(), 20); });
  EXPECT_TRUE(run.leaks.suspects.empty());
}

// More was freed at the site than is kept, but each step since the first has left something.
TEST(Suspects, WhatGoesBackToTheFirstIsOneThoughMostWasFreed) {
  const auto generations = [](Scene& scene, const std::vector<int>& steps, uint64_t attached_ns = 0) {
    scene.builder.attached_ns = attached_ns;
    scene.add(scene.plain(800, 16, scene.site(3, "build")));
    const uint32_t site = scene.site(12);
    for (int i = 0; i < 40 * scene.steps(); ++i) scene.builder.freed(site, 8192);
    for (int step : steps) scene.kept(serial_at(step, 10), 4096, site, "kept[" + std::to_string(step) + "]");
  };
  std::vector<int> all(30);
  std::iota(all.begin(), all.end(), 1);
  Dumps run = one_dump([&](Scene& scene) { generations(scene, all); });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_TRUE(run.leaks.suspects[0].from_the_first);
  EXPECT_EQ(run.leaks.suspects[0].kept, 30u);
  EXPECT_EQ(run.leaks.suspects[0].made, 1230u);
  Dumps queue = one_dump([&](Scene& scene) { generations(scene, {all.begin() + 3, all.end()}); });
  EXPECT_TRUE(queue.leaks.suspects.empty());
  Dumps at_any_time = one_dump([&](Scene& scene) { generations(scene, {1, 17, 21, 25, 29}); });
  EXPECT_TRUE(at_any_time.leaks.suspects.empty());
  const std::vector<int> seldom_used_goes = {1, 9, 15, 20, 23, 25, 26, 27, 28, 29, 30};
  Dumps cache = one_dump([&](Scene& scene) { generations(scene, seldom_used_goes); });
  EXPECT_TRUE(cache.leaks.suspects.empty());
  Dumps attached = one_dump([&](Scene& scene) { generations(scene, all, scene.builder.start_ns + 1); });
  EXPECT_TRUE(attached.leaks.suspects.empty());
}

TEST(Suspects, WhatWasMadeWithinAMomentIsNone) {
  for (const bool moment : {false, true}) {
    Dumps run = one_dump([&](Scene& scene) {
      if (moment) scene.builder.ns_each_serial = 100;
      for (int i = 0; i < 8; ++i) {
        scene.add(scene.plain(serial_at(29, 10 + i * 250), 2048, scene.site(12)));
        scene.kept(serial_at(29, 20 + i * 250), 2048, scene.site(13), "kept[" + std::to_string(i) + "]");
      }
    });
    EXPECT_EQ(run.leaks.suspects.size(), moment ? 0u : 2u);
  }
}

TEST(Suspects, AProgramThatHasRunForAMomentOnlyMayHaveSome) {
  Dumps run = one_dump([&](Scene& scene) {
    scene.builder.ns_each_serial = 100;
    keeps_entries(scene, 1, scene.steps());
  });
  EXPECT_EQ(run.leaks.suspects.size(), 1u);
}

TEST(Suspects, WhatWasMadeAtOneTimeIsNone) {
  Dumps run = one_dump([](Scene& scene) {
    for (int i = 0; i < 100; ++i) {
      scene.kept(serial_at(1, 10 + 2 * i), 2048, scene.site(12), "data[" + std::to_string(i) + "]");
    }
  });
  EXPECT_TRUE(run.leaks.suspects.empty());
}

TEST(Suspects, ACacheThatIsNotFedAnyMoreIsNone) {
  Dumps run = one_dump([](Scene& scene) { keeps_entries(scene, 1, 12); });
  EXPECT_TRUE(run.leaks.suspects.empty());
}

TEST(Suspects, AGraphThatGoesBackThroughTheSteps) {
  Dumps run = one_dump([](Scene& scene) {
    uint32_t before = 0;
    for (int step = 1; step <= scene.steps(); ++step) {
      const std::vector<uint32_t> inputs = step > 1 ? std::vector<uint32_t>{before} : std::vector<uint32_t>{};
      before = scene.node(serial_at(step, 1), testing::kTanh, inputs);
      scene.saved(serial_at(step, 5), 2048, scene.site(31), before);
    }
    testing::TensorSpec tensor = scene.plain(serial_at(scene.steps(), 20), 16, scene.site(32));
    tensor.grad_fn = scene.builder.graph_address(before);
    const uint64_t made = scene.add(tensor);
    scene.held(made, "hidden");
    scene.object(made);
  });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  const Suspect& suspect = run.leaks.suspects[0];
  EXPECT_EQ(suspect.kind, Suspect::Kind::graph);
  EXPECT_EQ(suspect.holder, "train.py: hidden");
  EXPECT_EQ(suspect.count, 30u);
  EXPECT_EQ(suspect.generations, 30u);
  EXPECT_EQ(suspect.bytes, 30u * 8192 + 64);
}

// Two weights, of which no variable holds the gradient; these have the graph of the last pass, or of all.
Dumps gradients_with_graphs(bool of_all) {
  return one_dump([=](Scene& scene) {
    std::vector<uint32_t> before;
    for (int step = of_all ? 1 : scene.steps(); step <= scene.steps(); ++step) {
      before = {scene.node(serial_at(step, 1), testing::kTanh, before)};
      scene.saved(serial_at(step, 5), 2048, scene.site(31), before.front());
    }
    for (int i = 0; i < 2; ++i) {
      testing::TensorSpec gradient = scene.plain(serial_at(scene.steps(), 20 + 10 * i), 16, scene.site(32));
      gradient.grad_fn = scene.builder.graph_address(before.front());
      scene.add(gradient);
      testing::TensorSpec weight = scene.plain(800 + 10 * i, 16, scene.site(5));
      weight.grad = gradient.address;
      weight.flags = uint32_t(format::TensorFlag::leaf) | uint32_t(format::TensorFlag::requires_grad);
      const uint64_t serial = scene.add(weight);
      scene.held(serial, i == 0 ? "model.weight" : "model.bias", ReferenceRoot::global,
                 format::ReferenceRole::parameter);
      scene.object(serial, true, true);
    }
  });
}

TEST(Suspects, GradientsWithTheGraphsOfAllPasses) {
  Dumps run = gradients_with_graphs(true);
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  const Suspect& suspect = run.leaks.suspects[0];
  EXPECT_EQ(suspect.kind, Suspect::Kind::graph);
  EXPECT_EQ(suspect.holder, "model.weight.grad and 1 other");
  EXPECT_EQ(suspect.count, 30u);
  EXPECT_EQ(suspect.bytes, 30u * 8192 + 2 * 64);
  EXPECT_TRUE(gradients_with_graphs(false).leaks.suspects.empty());
}

TEST(Suspects, OneTensorThatIsMadeAnewAndLargerEachTime) {
  const auto grows = [](Scene& scene, bool larger) {
    const uint32_t site = scene.site(12);
    for (int step = 1; step < scene.steps(); ++step) {
      scene.builder.freed(site, uint64_t(larger ? step : scene.steps()) * 8192);
    }
    const uint64_t last = scene.kept(serial_at(scene.steps(), 10), scene.steps() * 2048, site, "all");
    scene.held(last, "cache.all");
  };
  Dumps run = one_dump([&](Scene& scene) { grows(scene, true); });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_EQ(run.leaks.suspects[0].kind, Suspect::Kind::larger);
  EXPECT_EQ(run.leaks.suspects[0].holder, "train.py: all; train.py: cache.all");
  Dumps same = one_dump([&](Scene& scene) { grows(scene, false); });
  EXPECT_TRUE(same.leaks.suspects.empty());
}

TEST(Suspects, ASiteThatNoVariableExplains) {
  Dumps run = one_dump([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.add(scene.plain(serial_at(step, 10), 2048, scene.site(12)));
    }
  });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_EQ(run.leaks.suspects[0].kind, Suspect::Kind::site);
  EXPECT_EQ(run.leaks.suspects[0].bytes, 30u * 8192);
}

// Of what many hold nobody is named alone: each holds too few to be suspected, together they were fed for long.
TEST(Suspects, ASiteWhoseTensorsHaveManyHoldersNamesMoreThanOne) {
  Dumps run = one_dump([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(serial_at(step, 10), 2048, scene.site(12), std::string(1, char('a' + step % 5)));
    }
  });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_EQ(run.leaks.suspects[0].kind, Suspect::Kind::site);
  EXPECT_EQ(run.leaks.suspects[0].holder, "train.py: b; train.py: c and 3 more");
}

TEST(Suspects, TheLargestComesFirstAndTheSameIsSaidOnce) {
  Dumps run = one_dump([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const std::string number = std::to_string(step);
      scene.kept(serial_at(step, 10), 2048, scene.site(12), "small[" + number + "]");
      const uint64_t made = scene.kept(serial_at(step, 20), 4096, scene.site(13), "large[" + number + "]");
      scene.held(made, "again[" + number + "]");
    }
  });
  ASSERT_EQ(run.leaks.suspects.size(), 2u);
  EXPECT_EQ(run.leaks.suspects[0].bytes, 30u * 16384);
  EXPECT_EQ(run.leaks.suspects[1].holder, "train.py: small[1..30]");
}

// A chain of nodes, each with a parameter: the same one again, or another one each.
Dumps a_chain(bool same_leaf, const std::vector<int>& ends = {}) {
  return one_dump([&](Scene& scene) {
    if (!ends.empty()) steps_end(scene, ends);
    uint32_t leaf = 0, last = 0;
    for (int step = 1; step <= scene.steps(); ++step) {
      if (step == 1 || !same_leaf) {
        leaf = scene.builder.graph_node({.class_name = testing::kAccumulate,
                                         .address = 0x700000000000 + uint64_t(step) * 512,
                                         .flags = uint8_t(format::GraphNodeFlag::accumulates)});
      }
      last = step == 1 ? scene.node(serial_at(step, 5), testing::kTanh, {leaf})
                       : scene.node(serial_at(step, 5), testing::kTanh, {leaf, last});
      scene.saved(serial_at(step, 6), 2048, scene.site(9), last);
    }
    testing::TensorSpec out = scene.plain(serial_at(scene.steps(), 20), 16, scene.site(8));
    out.grad_fn = scene.builder.graph_address(last);
    const uint64_t serial = scene.add(out);
    scene.held(serial, "x", ReferenceRoot::global);
    scene.object(serial);
  });
}

TEST(Suspects, AGraphThatComesToTheSameParameterAgain) {
  Dumps run = a_chain(true);
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_EQ(run.leaks.suspects[0].kind, Suspect::Kind::graph);
}

TEST(Suspects, AForwardPassThroughManyLayersIsNone) {
  for (const std::vector<int>& ends : {std::vector<int>{}, {1}, {10, 20}}) {
    Dumps run = a_chain(false, ends);
    for (const Suspect& suspect : run.leaks.suspects) EXPECT_NE(suspect.kind, Suspect::Kind::graph);
  }
}

}  // namespace
}  // namespace tensorscope::analyzer
