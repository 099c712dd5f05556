// SPDX-License-Identifier: Apache-2.0
#include "leaks/second_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::Dumps;
using ::testing::ElementsAre;
using testing::Scene;
using testing::serial_at;

std::string entry(const std::string& name, int step) { return name + "[" + std::to_string(step) + "]"; }

// A list that gets 16 KiB in each step; `held` says by what else.
Dumps run(const std::function<void(Scene&, uint64_t serial, int step)>& held) {
  return Dumps([&](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      held(scene, scene.kept(serial_at(step, 10), 4096, scene.site(12), entry("history", step)), step);
    }
  });
}

TEST(SecondOwners, AreSaidWithWhatTheContainerAloneFrees) {
  Dumps dumps = run([](Scene& scene, uint64_t serial, int step) {
    if (step % 2 == 0) scene.held(serial, entry("trainer.best", step / 2));
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "train.py: trainer.best[1..15]");
  EXPECT_EQ(dumps.only().frees_alone, 15u * 16384);
}

// Jobs in a list and in an index beside it, both below one key.
TEST(SecondOwners, OfTwoContainersBelowOneKey) {
  const auto dumps_of = [](const std::string& job, const std::string& other) {
    return Dumps([&](Scene& scene) {
      for (int step = 1; step <= scene.steps(); ++step) {
        const uint64_t made = scene.add(scene.plain(serial_at(step, 10), 4096, scene.site(12)));
        const std::string text = job + "[" + std::to_string(step) + "]";
        scene.held_in_shared(made, text + ".x", other.empty() ? job.substr(0, job.find('.')) : text,
                             {other.empty() ? "names (key)" : other + "['" + std::to_string(step * 977) + "a']"});
        scene.object(made);
      }
    });
  };
  Dumps dumps = dumps_of("stores['default'].jobs", "stores['default'].index");
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "train.py: stores[*].index[*]");
  EXPECT_EQ(dumps.only().frees_alone, 0u);
  // What has the list is reached in another way, too: it makes no difference.
  EXPECT_EQ(dumps_of("nodes (key).meta['seen']", "").only().also_held_by, "");
}

// Nodes that know their parents: another one with the same parent keeps all before it.
TEST(SecondOwners, OfLinkedObjectsReachTheirHead) {
  Dumps dumps([](Scene& scene) {
    std::string text = "root";
    for (int step = scene.steps(); step >= 1; --step) {
      text += ".parent";
      const uint64_t made = scene.add(scene.plain(serial_at(step, 10), 4096, scene.site(12)));
      scene.held_in_shared(made, text + ".board", "root.parent", {"child.parent"});
      scene.object(made);
    }
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_THAT(dumps.only().holders.at(0), ::testing::HasSubstr("root.parent*"));
  EXPECT_EQ(dumps.only().also_held_by, "train.py: child.parent");
  EXPECT_EQ(dumps.only().frees_alone, 0u);
}

// A tree beside a set of the same things: each is somewhere else in it. A list of the last few keeps few.
TEST(SecondOwners, AreWhatLeadsToNearlyAll) {
  Dumps dumps = run([](Scene& scene, uint64_t serial, int step) {
    std::string text = "intervals.tree";
    for (int bit = 1; bit <= step; bit *= 2) text += (step & bit) != 0 ? ".left" : ".right";
    scene.held(serial, text + ".items{Interval}");
    if (step > scene.steps() - 3) scene.held(serial, entry("recent", step));
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "train.py: intervals.tree");
}

// A key's closure and what the dict has for it.
TEST(SecondOwners, AreNoKeysOfTheDict) {
  Dumps dumps([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const uint64_t made = scene.kept(serial_at(step, 10), 4096, scene.site(12), "closure of graphs (key): bias");
      scene.held(made, "graphs[function at " + std::to_string(step) + "].bias");
    }
  });
  ASSERT_EQ(dumps.leaks.findings.size(), 1u);
  EXPECT_EQ(dumps.only().also_held_by, "");
}

TEST(SecondOwners, OfAFewEntriesAreNotSaid) {
  Dumps dumps = run([](Scene& scene, uint64_t serial, int step) {
    if (step == scene.steps()) scene.held(serial, "last");
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "");
}

TEST(SecondOwners, AreNoOtherEntriesOfTheContainer) {
  Dumps dumps = run([](Scene& scene, uint64_t serial, int step) { scene.held(serial, entry("history", step + 1)); });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "");
}

// Records of one tensor each in `log.recent`, that others have as well.
Dumps records(const std::function<std::vector<std::string>(Scene&, int step)>& others,
              const std::string& shared = "log.recent[*]") {
  return Dumps([&](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const uint64_t made = scene.add(scene.plain(serial_at(step, 10), 4096, scene.site(12)));
      std::string entry_text = shared;
      if (const size_t at = entry_text.find('*'); at != std::string::npos)
        entry_text.replace(at, 1, std::to_string(step));
      scene.held_in_shared(made, entry("log.recent", step) + ".x", entry_text, others(scene, step));
      scene.object(made);
    }
  });
}

TEST(SecondOwners, OfTheRecordsThatHaveTheTensorsAreSaidAsWell) {
  Dumps dumps = records([](Scene&, int step) { return std::vector{"log.by_id['" + std::to_string(step) + "']"}; });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "train.py: log.by_id['*']");
  EXPECT_EQ(dumps.only().frees_alone, 0u);
}

TEST(SecondOwners, OfWhichThreeAreNamed) {
  Dumps dumps = records([](Scene&, int step) {
    return std::vector{entry("a", step), entry("b", step), entry("c", step), entry("d", step), entry("e", step)};
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "train.py: a[1..30]; train.py: b[1..30]; train.py: c[1..30] and 2 more");
}

// The container may have two names: to empty it frees all the same.
TEST(SecondOwners, OfTheContainerItselfAreNone) {
  Dumps dumps = records([](Scene&, int) { return std::vector<std::string>{"alias"}; }, "log.recent");
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "");
}

// The variable of the last step refers to one of all.
TEST(SecondOwners, OfOneEntryAreNotNamedBesideThoseOfAll) {
  Dumps dumps = records([](Scene& scene, int step) {
    std::vector<std::string> others = {entry("kept", step)};
    if (step == scene.steps()) others.push_back("record");
    return others;
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_EQ(dumps.only().also_held_by, "train.py: kept[1..30]");
}

}  // namespace
}  // namespace tensorscope::analyzer
