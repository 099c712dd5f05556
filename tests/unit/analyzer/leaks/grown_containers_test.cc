// SPDX-License-Identifier: Apache-2.0
#include "leaks/grown_containers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::ContainerSpec;
using testing::Dumps;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Scene;

constexpr uint64_t kMebibyte = 1 << 20;

ContainerSpec container(const std::string& text, uint64_t bytes, uint64_t entries, uint64_t cpp_objects = 0) {
  ContainerSpec row;
  row.text = text;
  row.bytes = bytes;
  row.entries = entries;
  row.cpp_objects = cpp_objects;
  if (cpp_objects > 0) row.cpp_type = "Future";
  return row;
}

std::vector<std::string> names(const std::vector<ContainerGrowth>& containers) {
  std::vector<std::string> names;
  for (const ContainerGrowth& each : containers) names.push_back(each.short_name);
  return names;
}

// malloc's memory becomes more by 4 MiB in 10 steps, outside of tensors; the program's containers are what a test says.
Dumps run(const Dumps::Program& containers, bool complete = true, bool grows = true) {
  return Dumps([&](Scene& scene) {
    scene.builder.heap_in_use = 100 * kMebibyte + (grows ? uint64_t(scene.steps()) * 4 * kMebibyte / 10 : 0);
    scene.builder.has_containers = true;
    scene.builder.containers_complete = complete;
    scene.kept(testing::serial_at(scene.steps(), 1), 4, scene.site(1), "batch");
    containers(scene);
  });
}

TEST(GrownContainers, HoldWhatGrewOutsideTensors) {
  Dumps dumps = run([](Scene& scene) {
    const auto steps = uint64_t(scene.steps());
    scene.builder.container(container("rows", steps * 380 << 10, steps * 100));
    scene.builder.container(container("table", 50 * kMebibyte, 7));
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("process-memory"));
  const LeakFinding& finding = dumps.only();
  EXPECT_THAT(finding.holders, ElementsAre("train.py: rows (list)"));
  // With the little that malloc has for each row and Python does not count.
  constexpr uint64_t kFirst = 3800 << 10;
  EXPECT_EQ(finding.growth.bytes, (std::vector<uint64_t>{kFirst, kFirst + 4 * kMebibyte, kFirst + 8 * kMebibyte}));
  EXPECT_EQ(finding.growth.count, (std::vector<uint64_t>{1000, 2000, 3000}));
  EXPECT_EQ(finding.advice, Advice::bound_container);
  const auto rest = std::find_if(finding.evidence.begin(), finding.evidence.end(),
                                 [](const Fact& fact) { return fact.kind == FactKind::in_no_container; });
  ASSERT_NE(rest, finding.evidence.end());
  EXPECT_EQ(rest->values, (std::vector<uint64_t>{(8 * 1024 - 7600) << 10}));
}

// Operations that a profiler keeps are in no object of Python, and their tensors have no memory any more.
TEST(GrownContainers, AProfilerThatIsOnKeepsWhatItSaw) {
  const auto profiled = [](bool on) {
    return run([on](Scene& scene) {
      if (on) scene.builder.profilers = {"prof.profiler"};
      for (int i = 0; i < scene.steps() * 20; ++i) {
        testing::TensorSpec empty = scene.plain(testing::serial_at(1 + i / 20, 10 + i % 20), 0, scene.site(40));
        empty.storage_base = 0;
        scene.object(scene.add(empty), false, false, format::WrapperState::kept_by_cpp);
      }
    });
  };
  Dumps dumps = profiled(true);
  ASSERT_THAT(dumps.kinds(), ElementsAre("process-memory"));
  EXPECT_THAT(dumps.only().holders, ElementsAre("train.py: prof.profiler (profiler of torch, which is on)"));
  EXPECT_EQ(dumps.only().advice, Advice::stop_profiler);
  Dumps off = profiled(false);
  ASSERT_THAT(off.kinds(), ElementsAre("cpp-only"));
  EXPECT_THAT(off.only().evidence, ::testing::Contains(::testing::Field(&Fact::kind, FactKind::outside_growth)));
}

// Figures, of which C code has as much as Python: what is not known grows as their objects do.
TEST(GrownContainers, HaveTheRestTooWhereItGrowsAsTheirExtensionObjectsDo) {
  const auto dumps_of = [](bool objects) {
    return run([objects](Scene& scene) {
      const auto steps = uint64_t(scene.steps());
      scene.builder.container(container("figures", steps * (250 << 10), steps, objects ? steps : 3));
    });
  };
  EXPECT_EQ(dumps_of(true).only().growth.added_bytes(), int64_t(8 * kMebibyte));
  EXPECT_EQ(dumps_of(true).only().advice, Advice::bound_cpp_objects);
  EXPECT_EQ(dumps_of(false).only().growth.added_bytes(), 20 * (250 << 10));
}

// An object with many lists that are filled together, each of which has a little.
TEST(GrownContainers, AreTheObjectThatHasManyOfThem) {
  Dumps dumps = run([](Scene& scene) {
    const auto steps = uint64_t(scene.steps());
    scene.builder.container(container("saver", steps * (360 << 10), 9));
    for (const char* name : {"saver.x", "saver.P", "saver.K", "saver.S"})
      scene.builder.container(container(name, steps * (90 << 10), steps));
  });
  EXPECT_THAT(names(grown_containers(dumps.views())), ElementsAre("train.py: saver"));
}

// Arrow's memory, say, is another allocator's: the process shows only what is resident.
TEST(GrownContainers, AreAFindingThoughNoAllocatorReportsTheirMemory) {
  const auto kinds = [](uint64_t each) {
    return run([each](
                   Scene& scene) { scene.builder.container(container("tables", uint64_t(scene.steps()) * each, 5)); },
               true, false)
        .kinds();
  };
  EXPECT_THAT(kinds(200 << 10), ElementsAre("process-memory"));
  EXPECT_THAT(kinds(20 << 10), ElementsAre("process-memory"));
  EXPECT_THAT(kinds(6 << 10), IsEmpty());  // 60 KiB an interval
}

TEST(GrownContainers, AreEvidenceAloneWhereTheyHaveLess) {
  Dumps dumps = run([](Scene& scene) {
    scene.builder.container(container("rows", uint64_t(scene.steps()) * 80 << 10, uint64_t(scene.steps())));
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("process-memory"));
  EXPECT_THAT(dumps.only().holders, IsEmpty());
  EXPECT_EQ(dumps.only().advice, Advice::process_part);
  EXPECT_EQ(dumps.only().growth.added_bytes(), int64_t(8 * kMebibyte));
  EXPECT_EQ(dumps.only().evidence.front().name, "train.py: rows");
}

// A data frame's array, of which Python sees no entries; the frame is what the program has a name for.
TEST(GrownContainers, OfALibrarysObjectAreNamedByWhatTheProgramNames) {
  Dumps dumps = run([](Scene& scene) {
    scene.builder.container(container("df._mgr.<tuple>[0].<ndarray>", uint64_t(scene.steps()) * 380 << 10, 0));
  });
  ASSERT_THAT(dumps.kinds(), ElementsAre("process-memory"));
  EXPECT_THAT(dumps.only().holders, ElementsAre("train.py: df"));
  EXPECT_EQ(dumps.only().advice, Advice::bound_earlier_data);
}

// Traced functions, whose graphs are in C++: what each takes is not known, but it is the same for each.
TEST(GrownContainers, OfObjectsOfCppAreNamedWhereMemoryGrowsAsTheyDo) {
  const auto dumps_of = [](uint64_t (*objects)(uint64_t steps)) {
    return run([objects](Scene& scene) {
      const uint64_t count = objects(uint64_t(scene.steps()));
      scene.builder.container(container("kept", count * 100, count, count));
    });
  };
  Dumps dumps = dumps_of([](uint64_t steps) { return steps * 2; });
  ASSERT_THAT(dumps.kinds(), ElementsAre("process-memory"));
  EXPECT_THAT(dumps.only().holders, ElementsAre("train.py: kept (list)"));
  EXPECT_EQ(dumps.only().advice, Advice::bound_cpp_objects);
  EXPECT_EQ(dumps.only().growth.added_bytes(), int64_t(8 * kMebibyte));
  Dumps other = dumps_of([](uint64_t steps) { return steps * steps; });
  EXPECT_THAT(other.only().holders, IsEmpty());
}

// What a list of tensors has outside of them, as their objects, is no second finding; another list is.
TEST(GrownContainers, OfAFindingAboutTensorsAreItsEvidence) {
  const auto with_log = [](uint64_t each) {
    return run(
        [each](Scene& scene) {
          const auto steps = uint64_t(scene.steps());
          for (int step = 1; step <= scene.steps(); ++step)
            scene.kept(testing::serial_at(step, 10), 4096, scene.site(12), "rows[" + std::to_string(step) + "].x");
          scene.builder.container(container("rows", steps * (30 << 10), steps));
          if (each > 0) scene.builder.container(container("log", steps * each, steps));
        },
        true, false);
  };
  Dumps alone = with_log(0);
  ASSERT_THAT(alone.kinds(), ElementsAre("container"));
  const auto& evidence = alone.only().evidence;
  const auto outside = std::ranges::find(evidence, FactKind::container_bytes, &Fact::kind);
  ASSERT_NE(outside, evidence.end());
  EXPECT_EQ(outside->name, "train.py: rows");
  Dumps both = with_log(20 << 10);
  ASSERT_THAT(both.kinds(), ElementsAre("process-memory", "container"));  // the one that grew more first
  EXPECT_THAT(both.leaks.findings[0].holders, ElementsAre("train.py: log (list)"));
}

// Hooks with a list in the closure of each: the dict of hooks is where both are.
TEST(GrownContainers, OfFunctionsWhoseClosuresAFindingNamesAreItsEvidence) {
  Dumps dumps = run(
      [](Scene& scene) {
        const auto steps = uint64_t(scene.steps());
        for (int step = 1; step <= scene.steps(); ++step) {
          const std::string hook = "closure of layer._forward_hooks[" + std::to_string(step) + "]: kept[0]";
          scene.kept(testing::serial_at(step, 10), 4096, scene.site(12), hook);
        }
        scene.builder.container(container("layer._forward_hooks", steps * (30 << 10), steps));
      },
      true, false);
  ASSERT_THAT(dumps.kinds(), ElementsAre("container"));
  EXPECT_THAT(dumps.only().evidence, ::testing::Contains(::testing::Field(&Fact::kind, FactKind::container_bytes)));
}

// What parts of a container have, of which each would be too little for a finding, is said with the container.
TEST(GrownContainers, LittlePartsAreNamedWithWhatIsAroundThem) {
  Dumps dumps = run(
      [](Scene& scene) {
        const auto steps = uint64_t(scene.steps());
        scene.builder.container(container("events", steps * (30 << 10), steps));
        scene.builder.container(container("index", steps * (8 << 10), 2));
        for (const char* part : {"index['frame']", "index['event']"})
          scene.builder.container(container(part, steps * (4 << 10), steps));
      },
      true, false);
  ASSERT_THAT(dumps.kinds(), ElementsAre("process-memory"));
  EXPECT_THAT(dumps.only().holders, ElementsAre("train.py: events (list)", "train.py: index (list)"));
}

// Plain objects in cycles wait for Python's garbage collector.
TEST(GrownContainers, InUnreachableCyclesAreARemark) {
  const auto with_log = [](bool log) {
    return run([log](Scene& scene) {
      const auto steps = uint64_t(scene.steps());
      ContainerSpec garbage = container("FunctionEvent.cpu_children", steps * (300 << 10), steps);
      garbage.root = format::ReferenceRoot::cycle;
      scene.builder.container(garbage);
      if (log) scene.builder.container(container("log", steps * (20 << 10), steps));
    });
  };
  Dumps alone = with_log(false);
  EXPECT_THAT(alone.kinds(), IsEmpty());
  ASSERT_EQ(alone.leaks.remarks.size(), 1u);
  EXPECT_EQ(alone.leaks.remarks[0].reason, Remark::Reason::waits_for_collector);
  EXPECT_THAT(with_log(true).only().holders, ElementsAre("train.py: log (list)"));
}

// Two dumps say what came outside of tensors and who keeps it; whether it goes on a third one says.
TEST(GrownContainers, OfTwoDumpsAreARemark) {
  const auto two = [](uint64_t each, bool with_database) {
    return Dumps(
        [=](Scene& scene) {
          const auto steps = uint64_t(scene.steps());
          scene.builder.resident_bytes = 500 * kMebibyte;
          scene.builder.heap_in_use = 100 * kMebibyte + steps * (200 << 10);
          scene.builder.has_containers = true;
          scene.builder.container(container("rows", steps * each, steps));
          if (!with_database) return;
          ContainerSpec row = container("db", 0, 0, 1);
          row.type_name = row.cpp_type = "Connection";
          scene.builder.container(row);
        },
        {10, 20});
  };
  Dumps rows = two(20 << 10, false);
  EXPECT_FALSE(rows.leaks.found());
  ASSERT_EQ(rows.leaks.remarks.size(), 1u);
  EXPECT_EQ(rows.leaks.remarks[0].reason, Remark::Reason::one_interval);
  EXPECT_THAT(rows.leaks.remarks[0].what.holders, ElementsAre("train.py: rows (list)"));
  EXPECT_EQ(rows.leaks.remarks[0].what.growth.added_bytes(), 200 << 10);
  Dumps database = two(1 << 10, true);
  ASSERT_EQ(database.leaks.remarks.size(), 1u);
  EXPECT_THAT(database.leaks.remarks[0].what.holders, ElementsAre("train.py: db (Connection)"));
  EXPECT_TRUE(two(1 << 10, false).leaks.remarks.empty());
}

// A set of tuples, whose table is made four times as large now and then.
TEST(GrownContainers, ThatGrowInBurstsGrowAsTheirEntriesDo) {
  const auto kinds = [](const std::vector<uint64_t>& bytes, bool evenly) {
    return run(
               [&](Scene& scene) {
                 const auto steps = uint64_t(scene.steps());
                 const uint64_t entries = evenly ? steps * 1000 : 100'000 - 300'000 / steps;
                 scene.builder.container(container("seen", bytes[steps / 10 - 1], entries));
               },
               true, false)
        .kinds();
  };
  EXPECT_THAT(kinds({2 << 20, 5 << 20, 6 << 20}, true), ElementsAre("process-memory"));
  EXPECT_THAT(kinds({2 << 20, 5 << 20, 6 << 20}, false), IsEmpty());
  EXPECT_THAT(kinds({2 << 20, 5 << 20, 5 << 20}, true), IsEmpty());
}

// Trees of scikit-learn, a few kilobytes each: little, which something is known to have.
TEST(GrownContainers, OfObjectsOfCppAreNamedWhereLittleGrowsAsTheyDo) {
  const auto dumps_of = [](uint64_t each) {
    return Dumps([each](Scene& scene) {
      const auto steps = uint64_t(scene.steps());
      scene.builder.resident_bytes = 500 * kMebibyte;
      scene.builder.heap_in_use = 100 * kMebibyte + steps * (30 << 10);
      scene.builder.has_containers = true;
      scene.builder.container(container("stages", steps * 400, steps, each == 0 ? 5 : steps * each));
    });
  };
  Dumps dumps = dumps_of(1);
  ASSERT_THAT(dumps.kinds(), ElementsAre("process-memory"));
  EXPECT_THAT(dumps.only().holders, ElementsAre("train.py: stages (list)"));
  EXPECT_EQ(dumps.only().growth.added_bytes(), int64_t(600 << 10));
  EXPECT_THAT(dumps_of(0).kinds(), IsEmpty());
}

// A database in memory: nothing in Python becomes more.
TEST(GrownContainers, OrAnObjectOfAnExtensionWhoseMemoryNobodyKnows) {
  const auto dumps_of = [](const std::vector<std::string>& variables) {
    return run([&variables](Scene& scene) {
      for (const std::string& name : variables) {
        ContainerSpec row = container(name, 0, 0, 1);
        row.type_name = row.cpp_type = "Connection";
        scene.builder.container(row);
      }
    });
  };
  Dumps one = dumps_of({"db"});
  ASSERT_THAT(one.kinds(), ElementsAre("process-memory"));
  EXPECT_THAT(one.only().holders, ElementsAre("train.py: db (Connection)"));
  EXPECT_EQ(one.only().advice, Advice::empty_opaque_objects);
  EXPECT_THAT(dumps_of({"db", "log"}).only().holders,
              ElementsAre("train.py: db (Connection)", "train.py: log (Connection)"));
  EXPECT_THAT(dumps_of({"a", "b", "c", "d"}).only().holders, IsEmpty());
}

TEST(GrownContainers, AreTheInnermostThatGrew) {
  Dumps dumps = run([](Scene& scene) {
    const auto steps = uint64_t(scene.steps());
    scene.builder.container(container("trainer", 30 * kMebibyte + steps * 400'000, 12));
    scene.builder.container(container("trainer.log", steps * 200'000, steps));
    scene.builder.container(container("trainer.log[0]", 20 << 10, 3));
    scene.builder.container(container("trainer.times", steps * 190'000, steps));
    scene.builder.container(container("trainers", steps * 1000, steps));
  });
  EXPECT_THAT(names(grown_containers(dumps.views())),
              ElementsAre("train.py: trainer.log", "train.py: trainer.times", "train.py: trainers"));
}

TEST(GrownContainers, AreTheOuterOneWhereMuchIsInNoneInside) {
  Dumps dumps = run([](Scene& scene) {
    const auto steps = uint64_t(scene.steps());
    scene.builder.container(container("store", steps * 400'000, 2));
    scene.builder.container(container("store.by_id", steps * 50'000, steps));
  });
  EXPECT_THAT(names(grown_containers(dumps.views())), ElementsAre("train.py: store"));
}

TEST(GrownContainers, AreNotKnownWhereADumpDoesNotHaveThemAll) {
  Dumps dumps =
      run([](Scene& scene) { scene.builder.container(container("rows", uint64_t(scene.steps()), 1)); }, false);
  EXPECT_THAT(grown_containers(dumps.views()), IsEmpty());
}

// What C++ alone holds: a tensor for each of two futures that a list gets in a step.
Dumps run_with_futures(const std::function<uint64_t(uint64_t)>& futures_after) {
  return Dumps([&](Scene& scene) {
    scene.builder.has_containers = true;
    const auto steps = uint64_t(scene.steps());
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.add(scene.plain(testing::serial_at(step, 1), 4096, scene.site(7)));
    }
    scene.builder.container(container("pending", 20 << 10, steps, futures_after(steps)));
    scene.builder.container(container("ops", 20 << 10, 12, 12));
  });
}

TEST(GrownContainers, OfObjectsOfCppThatComeWithItsTensorsHoldThem) {
  for (const uint64_t each : {1, 2, 5}) {
    Dumps dumps = run_with_futures([&](uint64_t steps) { return steps * each; });
    ASSERT_THAT(dumps.kinds(), ElementsAre("cpp-only"));
    EXPECT_THAT(dumps.only().holders, ElementsAre("train.py: pending (list)"));
    EXPECT_EQ(dumps.only().advice, Advice::bound_cpp_objects);
  }
}

TEST(GrownContainers, OfObjectsOfCppThatComeAtOtherTimesDoNot) {
  Dumps dumps = run_with_futures([](uint64_t steps) { return steps * steps / 10; });
  ASSERT_THAT(dumps.kinds(), ElementsAre("cpp-only"));
  EXPECT_THAT(dumps.only().holders, IsEmpty());
  EXPECT_EQ(dumps.only().advice, Advice::bound_cpp);
}

}  // namespace
}  // namespace tensorscope::analyzer
