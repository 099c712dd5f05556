#include "leaks/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    for (int step : {5, 10, 15, 20, 25}) scene.kept(serial_at(step, 10), 8192, scene.site(12), "kept[" + std::to_string(step) + "]");
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
        scene.object(made);
        if (step < scene.steps()) steps.push_back(step);
      }
      if (steps_are_known) steps_end(scene, steps);
    });
    EXPECT_EQ(run.leaks.suspects.size(), steps_are_known ? 1u : 0u);
  }
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

TEST(Suspects, SeveralDumpsHaveNone) {
  Dumps run([](Scene& scene) { keeps_entries(scene, 1, scene.steps()); });
  EXPECT_TRUE(run.leaks.suspects.empty());
}

TEST(Suspects, AQueueHasFreedMoreThanItHolds) {
  Dumps run = one_dump([](Scene& scene) { keeps_entries(scene, scene.steps() - 9, scene.steps(), 20); });
  EXPECT_TRUE(run.leaks.suspects.empty());
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

TEST(Suspects, OneTensorThatIsMadeAnewAndLargerEachTime) {
  const auto grows = [](Scene& scene, bool larger) {
    const uint32_t site = scene.site(12);
    for (int step = 1; step < scene.steps(); ++step) {
      scene.builder.freed(site, uint64_t(larger ? step : scene.steps()) * 8192);
    }
    scene.kept(serial_at(scene.steps(), 10), scene.steps() * 2048, site, "all");
  };
  Dumps run = one_dump([&](Scene& scene) { grows(scene, true); });
  ASSERT_EQ(run.leaks.suspects.size(), 1u);
  EXPECT_EQ(run.leaks.suspects[0].kind, Suspect::Kind::larger);
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

}  // namespace
}  // namespace tensorscope::analyzer
