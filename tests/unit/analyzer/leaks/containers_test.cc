// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/leaks/{leak_analysis,forms,narrowed,renamed_containers,series}.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "leaks/forms.h"
#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using format::ReferenceRoot;
using testing::Dumps;
using ::testing::ElementsAre;
using testing::Scene;
using testing::serial_at;

void keeps(Scene& scene, const std::string& before, const std::string& after, ReferenceRoot root, int from, int to) {
  for (int step = from; step <= to; ++step) {
    scene.kept(serial_at(step, 10), 2048, scene.site(12), before + std::to_string(step) + after, root);
  }
}

TEST(Containers, AGlobalDictionaryThatGrows) {
  Dumps run([](Scene& scene) { keeps(scene, "cache[", "]", ReferenceRoot::global, 1, scene.steps()); });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: cache[1..30]");
  EXPECT_EQ(run.only().bytes, 30u * 8192);
  ASSERT_EQ(run.leaks.places.size(), 1u);
  EXPECT_EQ(run.leaks.places[0].finding, 0u);
}

TEST(Containers, KeysAndValuesOfOneCacheAreOneFinding) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(serial_at(step, 10), 4096, scene.site(12), "lru_cache of Clip.envelope (key)[0].wave");
      scene.kept(serial_at(step, 20), 2048, scene.site(14), "lru_cache of Clip.envelope[" + std::to_string(step) + "]");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: lru_cache of Clip.envelope");
  EXPECT_EQ(run.only().growth.added_bytes(), 20 * (16384 + 8192));
  EXPECT_EQ(owner_of("cache[*].wave"), "cache");
  EXPECT_EQ(owner_of("graph.*"), "graph");
  EXPECT_EQ(owner_of("weight"), "weight");
}

// At one line of a trainer, gradients that are made anew in every step and targets that are kept.
TEST(Containers, WhatComesAndGoesAtALineDoesNotHideWhatGrowsThere) {
  Dumps run([](Scene& scene) {
    const uint32_t fit = scene.site(45);
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(serial_at(step, 10), 16384, scene.site(12), "outputs[" + std::to_string(step) + "][0]");
      scene.kept(serial_at(step, 20), 64, fit, "outputs[" + std::to_string(step) + "][1]");
    }
    for (int i = 0; i < 4; ++i)
      scene.kept(serial_at(scene.steps(), 500 + i), 4096, fit, "weights[" + std::to_string(i) + "].grad");
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  ASSERT_EQ(run.leaks.places.size(), 2u);
  for (const GrownPlace& grown : run.leaks.places) EXPECT_EQ(grown.finding, 0u) << grown.place.label;
}

// 20, 26 and 28 of what may be 28: whether it goes on is for a later dump to say.
TEST(Containers, WhatGrowsByLessAndLessIsNoFindingYet) {
  const auto with_entries = [](const std::vector<int>& entries) {
    return Dumps(
        [&](Scene& scene) {
          int made = 0;
          for (int step = 1; step <= scene.steps(); ++step) {
            for (; made < entries[size_t(step - 1) / 10] * step / 10; ++made)
              scene.kept(serial_at(step, made), 8192, scene.site(12), "cache[" + std::to_string(made) + "]");
          }
        },
        {10, 20, 30});
  };
  Dumps warm = with_entries({20, 13, 9});
  EXPECT_THAT(warm.kinds(), ElementsAre());
  EXPECT_FALSE(warm.leaks.found());
  ASSERT_EQ(warm.leaks.remarks.size(), 1u);
  EXPECT_EQ(warm.leaks.remarks[0].what.holders.at(0), "train.py: cache[0..26]");
  ASSERT_EQ(warm.leaks.places.size(), 1u);
  EXPECT_TRUE(warm.leaks.places[0].slows);
  Dumps steady = with_entries({20, 20, 20});
  EXPECT_THAT(steady.kinds(), ElementsAre("container"));
  EXPECT_TRUE(steady.leaks.remarks.empty());
}

// A reference of the root that the agent gives to what atexit keeps.
void kept_for_exit(Scene& scene, uint64_t serial, const std::string& text) {
  scene.kept_as(serial, 2048, scene.site(12), {.text = text, .scope = "atexit"});
}

TEST(Containers, HandlersOfAtexitThatBecomeMore) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      kept_for_exit(scene, serial_at(step, 10), "Writer.close.__self__.weights");
      kept_for_exit(scene, serial_at(step, 20), "Writer.close.__self__.bias");
      kept_for_exit(scene, serial_at(step, 30), "Writer.close.__self__.state[0]");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().advice, Advice::unregister_handlers);
  EXPECT_EQ(run.only().bytes, 30u * 3 * 8192);
}

TEST(Containers, OneHandlerOfAtexitWithAListOrASetThatGrows) {
  for (const bool list : {true, false}) {
    Dumps run([list](Scene& scene) {
      for (int step = 1; step <= scene.steps(); ++step) {
        kept_for_exit(scene, serial_at(step, 10),
                      list ? "save.args[0][" + std::to_string(step) + "]" : "save.args[0]{Tensor}");
      }
    });
    ASSERT_THAT(run.kinds(), ElementsAre("container"));
    EXPECT_EQ(run.only().advice, Advice::bound_container);
  }
}

// An entry of the list `batch` that a call of run() has.
struct CallSpec {
  uint64_t thread;
  const char* name;
  uint32_t depth;
};

void in_call(Scene& scene, const CallSpec& call, uint64_t serial, int index) {
  scene.kept_as(serial, 2048, scene.site(12),
                {.text = "batch[" + std::to_string(index) + "]",
                 .scope = "run",
                 .holder = "list",
                 .root = ReferenceRoot::local,
                 .thread = call.thread,
                 .thread_name = call.name,
                 .depth = call.depth});
}

constexpr CallSpec kMain = {1, "MainThread", 1}, kLoader = {2, "loader", 1}, kInner = {1, "MainThread", 2};

TEST(Containers, AListThatGrowsIsNotTheOneOfAnotherThread) {
  Dumps run([](Scene& scene) {
    for (int i = 0; i < 8; ++i) in_call(scene, kMain, serial_at(1, 20 + i), i);
    for (int step = 1; step <= scene.steps(); ++step) in_call(scene, kLoader, serial_at(step, 10), step);
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "batch[1..30] (local of run, thread loader) (list)");
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
}

TEST(Containers, ListsOfOneNameThatGrowInTwoThreadsAreTwoFindings) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      in_call(scene, kMain, serial_at(step, 10), step);
      in_call(scene, kLoader, serial_at(step, 20), step);
      in_call(scene, kLoader, serial_at(step, 30), step + 1000);
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container", "container"));
  EXPECT_THAT(run.leaks.findings[0].holders.at(0), ::testing::HasSubstr("thread loader"));
  EXPECT_THAT(run.leaks.findings[1].holders.at(0), ::testing::HasSubstr("thread MainThread"));
  EXPECT_EQ(run.leaks.findings[0].bytes, 60u * 8192);
  EXPECT_EQ(run.leaks.findings[1].bytes, 30u * 8192);
}

TEST(Containers, AListThatGrowsIsNotTheOneOfACallThatItMade) {
  Dumps run([](Scene& scene) {
    for (int i = 0; i < 8; ++i) in_call(scene, kInner, serial_at(1, 20 + i), i);
    for (int step = 1; step <= scene.steps(); ++step) in_call(scene, kMain, serial_at(step, 10), step);
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "batch[1..30] (local of run, call 1) (list)");
}

void in_main(Scene& scene, uint64_t serial, const std::string& text) {
  scene.kept_as(serial, 2048, scene.site(12),
                {.text = text, .scope = "main", .holder = "list", .root = ReferenceRoot::local});
}

// Three lists of one list, one dict or one set, of which one grows.
TEST(Containers, OneOfTheListsInAContainerThatGrowsIsTheFinding) {
  const std::vector<std::string> lists[] = {
      {"counters[0].seen", "counters[1].seen", "counters[2].seen"},
      {"cache[Key at 0x7f0010]", "cache[Key at 0x7f0020]", "cache[Key at 0x7f0030]"},
      {"bags{Bag at 0x7f0010}.seen", "bags{Bag at 0x7f0020}.seen", "bags{Bag at 0x7f0030}.seen"},
  };
  for (const std::vector<std::string>& names : lists) {
    Dumps run([&](Scene& scene) {
      for (const size_t list : {0, 2}) {
        for (int i = 0; i < 4; ++i) {
          in_main(scene, serial_at(1, int(20 + 10 * list) + i), names[list] + "[" + std::to_string(i) + "]");
        }
      }
      for (int step = 1; step <= scene.steps(); ++step) {
        in_main(scene, serial_at(step, 10), names[1] + "[" + std::to_string(step) + "]");
      }
    });
    ASSERT_THAT(run.kinds(), ElementsAre("container"));
    EXPECT_EQ(run.only().holders.at(0), names[1] + "[1..30] (local of main) (list)");
    EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
  }
}

TEST(Containers, ListsInAContainerOfWhichSeveralGrowAreOneFinding) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      for (const int list : {0, 1}) {
        in_main(scene, serial_at(step, 10 + list),
                "counters[" + std::to_string(list) + "].seen[" + std::to_string(step) + "]");
      }
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "counters[*].seen[*] (local of main) (list)");
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{20, 40, 60}));
}

// Dumps of other versions do not say which call it is; and each dump may see another one.
TEST(Containers, CallsThatAreNeverThereAtOnceAreOneVariable) {
  for (const bool known : {true, false}) {
    Dumps run([known](Scene& scene) {
      const CallSpec call = known ? CallSpec{uint64_t(scene.steps()), "worker", 1} : CallSpec{0, "", 0};
      for (int step = 1; step <= scene.steps(); ++step) in_call(scene, call, serial_at(step, 10), step);
    });
    ASSERT_THAT(run.kinds(), ElementsAre("container"));
    EXPECT_EQ(run.only().holders.at(0), "batch[1..30] (local of run) (list)");
  }
}

TEST(Containers, ThreadsThatBecomeMoreAreOneFinding) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const std::string name = "worker-" + std::to_string(step);
      in_call(scene, {uint64_t(step), name.c_str(), 1}, serial_at(step, 10), 0);
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
  EXPECT_EQ(run.only().holders.at(0), "batch[0] (local of run, thread worker-*) (list)");
  EXPECT_EQ(run.only().advice, Advice::end_threads);
}

// An entry of the list `seen` that a waiting generator has, this object.
void in_generator(Scene& scene, uint64_t generator, uint64_t serial, int index,
                  ReferenceRoot root = ReferenceRoot::suspended) {
  scene.kept_as(serial, 2048, scene.site(12),
                {.text = "seen[" + std::to_string(index) + "]",
                 .scope = root == ReferenceRoot::suspended ? "producer" : "list",
                 .holder = "list",
                 .root = root,
                 .begins_at = generator});
}

TEST(Containers, AListThatGrowsIsNotTheOneOfAnotherGeneratorNorOfCCode) {
  for (const ReferenceRoot root : {ReferenceRoot::suspended, ReferenceRoot::extension}) {
    Dumps run([root](Scene& scene) {
      for (int i = 0; i < 8; ++i) in_generator(scene, 0x7f00, serial_at(1, 20 + i), i, root);
      for (int step = 1; step <= scene.steps(); ++step) in_generator(scene, 0x7f40, serial_at(step, 10), step, root);
    });
    ASSERT_THAT(run.kinds(), ElementsAre("container"));
    EXPECT_THAT(run.only().holders.at(0), ::testing::HasSubstr(", #"));
    EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
  }
}

TEST(Containers, GeneratorsThatBecomeMoreAreNotOneGrowingThing) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      in_generator(scene, 0x7f00 + uint64_t(step) * 64, serial_at(step, 10), 0);
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "seen[0] (in the waiting producer) (list)");
  EXPECT_EQ(run.only().advice, Advice::close_generators);
  const auto counted = [](const Fact& fact) { return fact.kind == FactKind::same_names; };
  const auto fact = std::find_if(run.only().evidence.begin(), run.only().evidence.end(), counted);
  ASSERT_NE(fact, run.only().evidence.end());
  EXPECT_EQ(fact->values, (std::vector<uint64_t>{10, 20, 30}));
}

TEST(Containers, OneDumpTellsListsOfTwoThreadsApart) {
  Dumps run(
      [](Scene& scene) {
        for (int step = 1; step <= scene.steps(); ++step) {
          in_call(scene, kMain, serial_at(step, 10), step);
          in_call(scene, kLoader, serial_at(step, 20), step);
        }
      },
      {30});
  ASSERT_EQ(run.leaks.suspects.size(), 2u);
  EXPECT_NE(run.leaks.suspects[0].holder, run.leaks.suspects[1].holder);
}

TEST(Containers, GradientsOfItsEntriesAreNoGraphs) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      testing::TensorSpec gradient = scene.plain(serial_at(step, 20), 2048, scene.site(13));
      scene.add(gradient);
      testing::TensorSpec weight = scene.plain(serial_at(step, 10), 2048, scene.site(12));
      weight.grad = gradient.address;
      const uint64_t serial = scene.add(weight);
      scene.held(serial, "trials[" + std::to_string(step) + "]");
      scene.object(serial);
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().bytes, 30u * 2 * 8192);
  EXPECT_EQ(run.only().graph_bytes, 0u);
}

TEST(Containers, KeysThatAreNoNumbers) {
  Dumps run([](Scene& scene) { keeps(scene, "cache['batch-", "']", ReferenceRoot::global, 1, scene.steps()); });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
}

TEST(Containers, AListOfAnObject) {
  Dumps run([](Scene& scene) { keeps(scene, "trainer.history[", "].out", ReferenceRoot::local, 1, scene.steps()); });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  Dumps global(
      [](Scene& scene) { keeps(scene, "trainer.history[", "]['out']", ReferenceRoot::global, 1, scene.steps()); });
  ASSERT_THAT(global.kinds(), ElementsAre("container"));
}

// As the agent writes what is long.
std::string cut(const std::string& text) {
  constexpr size_t kEnd = 160;
  return text.size() <= 400 ? text : text.substr(0, kEnd) + " ... " + text.substr(text.size() - kEnd);
}

TEST(Containers, AChainWhoseNamesAreTooLong) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      std::string text = "root";
      for (int i = step; i < scene.steps(); ++i) text += ".parent.parent.parent";
      scene.kept(serial_at(step, 10), 2048, scene.site(12), cut(text + ".parent.parent.children[3].state"));
      scene.kept(serial_at(step, 20), 2048, scene.site(12), cut(text + ".parent.parent.children[10].state"));
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{20, 40, 60}));
  EXPECT_EQ(run.only().bytes, 60u * 8192);
}

TEST(Containers, AKeyThatWasCut) {
  const std::string text = "cache['" + std::string(200, 'k') + "'].layers[3].keys";
  EXPECT_EQ(without_indexes(text.substr(0, 160) + " ... " + text.substr(60)), "cache[*].layers[*].keys");
}

// chain = (tensor, chain): each form has one index more than the one before.
TEST(Containers, AChainOfTuples) {
  const auto chain = [](Scene& scene) {
    std::string text = "chain";
    for (int step = scene.steps(); step >= 1; --step) {
      scene.kept(serial_at(step, 10), 2048, scene.site(12), text + "[0]");
      text += "[1]";
    }
  };
  Dumps run(chain, {20, 40, 60});
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{20, 40, 60}));
  EXPECT_EQ(run.only().also_held_by, "");
}

TEST(Containers, AnObjectOfCWithoutNamesOfFields) {
  EXPECT_EQ(without_indexes("preview.<_tee_dataobject>.<Tensor>"), "preview*");
  EXPECT_EQ(without_indexes("object.<Buffer>.weight"), "object.<Buffer>.weight");
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(serial_at(step, 10), 2048, scene.site(12), "preview.<_tee_dataobject>.<Tensor>", ReferenceRoot::local);
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
}

TEST(Containers, KeysOfADictAndMembersOfASet) {
  EXPECT_EQ(without_indexes("reporter.names (key)"), "reporter.names*");
  EXPECT_EQ(without_indexes("seen{Tensor}.weight"), "seen*.weight");
  EXPECT_EQ(without_indexes("lru_cache of f (key 'a')"), "lru_cache of f*");
  EXPECT_EQ(without_indexes("table['a (key) {b}']"), "table[*]");
  for (const char* text : {"names (key)", "seen{Tensor}"}) {
    Dumps run([text](Scene& scene) {
      for (int step = 1; step <= scene.steps(); ++step) {
        scene.kept(serial_at(step, 10), 2048, scene.site(12), text);
      }
    });
    ASSERT_THAT(run.kinds(), ElementsAre("container"));
    EXPECT_EQ(run.only().holders.at(0), std::string("train.py: ") + text);
  }
}

void kept_in(Scene& scene, int step, const std::string& scope, const std::string& text) {
  scene.kept_as(serial_at(step, 10), 2048, scene.site(12), {.text = text, .scope = scope, .steps = 2});
}

TEST(Containers, WhatMoreAndMoreThreadsKeep) {
  EXPECT_EQ(without_thread("serve.py, thread worker 3"), "serve.py, thread *");
  EXPECT_EQ(without_thread("thread Thread-1 (run)"), "thread *");
  EXPECT_EQ(without_thread("my thread pool.py"), "my thread pool.py");
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      kept_in(scene, step, "serve.py, thread client " + std::to_string(step), "state.workspace");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().advice, Advice::end_threads);
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
  Dumps one([](Scene& scene) { kept_in(scene, scene.steps(), "serve.py, thread client", "state.workspace"); });
  EXPECT_THAT(one.kinds(), ElementsAre());
}

// Threads of a pool do not end, and are no more than before.
TEST(Containers, WhatEachThreadOfAPoolKeepsMoreAndMoreOf) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      kept_in(scene, step, "serve.py, thread pool " + std::to_string(step % 3),
              "local.served[" + std::to_string(step) + "]");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().advice, Advice::bound_container);
}

// Both halves of an itertools.tee refer to the same samples; which of the two has the shorter name changes.
TEST(Containers, OneThatAnEarlierDumpNamesOtherwise) {
  const auto first_name = [](int steps) { return steps < 30 ? "stream[" : "preview["; };
  Dumps run(
      [&](Scene& scene) { keeps(scene, first_name(scene.steps()), "]", ReferenceRoot::global, 1, scene.steps()); });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: preview[1..30]");
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
  // A list of a few, which a cache of as many had before.
  Dumps full([&](Scene& scene) {
    keeps(scene, first_name(scene.steps()), "]", ReferenceRoot::global, scene.steps() - 8, scene.steps());
  });
  EXPECT_THAT(full.kinds(), ElementsAre());
  // A part of what a larger one had.
  Dumps part([&](Scene& scene) {
    keeps(scene, first_name(scene.steps()), "]", ReferenceRoot::global, scene.steps() < 30 ? 1 : 15, scene.steps());
  });
  EXPECT_THAT(part.kinds(), ElementsAre());
}

// A queue that is read more slowly than it is filled: of the ten entries of the first dump none is left.
TEST(Containers, ABacklogLosesEntriesAndGetsMore) {
  Dumps run([](Scene& scene) {
    keeps(scene, "queue[", "]", ReferenceRoot::global, scene.steps() / 2 + 6, scene.steps() + 5);
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().advice, Advice::bound_backlog);
  const auto& evidence = run.only().evidence;
  const auto left = std::ranges::find(evidence, FactKind::entries_that_left, &Fact::kind);
  ASSERT_NE(left, evidence.end());
  EXPECT_EQ(left->values, (std::vector<uint64_t>{5}));
  EXPECT_EQ(std::ranges::find(evidence, FactKind::every_interval_kept, &Fact::kind), evidence.end());
}

// A deque of the last 16, which was not full at the first dump; three dumps show that it stays so.
TEST(Containers, AWindowThatWasNotFullYetIsNone) {
  for (const std::vector<int>& dumps : {std::vector<int>{10, 30}, {10, 20, 30}}) {
    Dumps run(
        [](Scene& scene) {
          keeps(scene, "recent[", "]", ReferenceRoot::global, std::max(1, scene.steps() - 15), scene.steps());
        },
        dumps);
    EXPECT_THAT(run.kinds(), ElementsAre());
    EXPECT_FALSE(run.leaks.found());
  }
}

// A full heap from which the easiest leave and into which harder ones come, a few more or less: two dumps that show
// more do not show that it grows. Memory that grew all along does.
TEST(Containers, AnExchangeOfEntriesIsNoGrowthInTwoDumps) {
  const auto exchanged = [](bool run_grew) {
    return Dumps(
        [run_grew](Scene& scene) {
          const int entries = scene.steps() == 10 ? 24 : 26, stay = 14;
          for (int i = 0; i < entries; ++i) {
            const int late = scene.steps() == 10 ? 5 + (i - stay) / 2 : 11 + (i - stay) * 19 / 11;
            const int step = i < stay ? 1 + i / 4 : late;
            scene.kept(serial_at(step, 10 + i), 16384, scene.site(12), "heap[" + std::to_string(i) + "]");
          }
          testing::DumpBuilder& dump = scene.builder;
          dump.step_source = format::StepSource::backward;
          for (int step = 1; step <= scene.steps(); ++step) {
            const uint64_t live = run_grew ? uint64_t(step) * 8192 : 200'000;
            dump.step_ends.push_back(serial_at(step, 999));
            dump.history_points.emplace_back(dump.start_ns + serial_at(step, 999) * dump.ns_each_serial, uint64_t(step),
                                             0, 1, format::MomentKind::step, format::StepSource::backward);
            dump.history_levels.emplace_back(live, live, 0);
          }
        },
        {10, 30});
  };
  EXPECT_THAT(exchanged(false).kinds(), ElementsAre());
  EXPECT_FALSE(exchanged(false).leaks.found());
  EXPECT_THAT(exchanged(true).kinds(), ElementsAre("container"));
}

// Callbacks of a future that never completes: one more function each time, each with its own closure.
TEST(Containers, ObjectsThatOnlyCCodeHoldsAndThatBecomeMore) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept_as(serial_at(step, 10), 2048, scene.site(12),
                    {.text = "closure of function: scores",
                     .scope = "function",
                     .root = ReferenceRoot::extension,
                     .begins_at = 0x7f00 + uint64_t(step) * 64});
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
  EXPECT_EQ(run.only().advice, Advice::release_from_c);
}

// A configuration that is imported as a module of its own name each time, and stays in sys.modules.
TEST(Containers, ModulesThatBecomeMore) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      testing::ReferenceSpec variable{
          .text = "anchors", .scope = "config_" + std::to_string(step), .begins_at = 0x7f00 + uint64_t(step) * 64};
      scene.kept_as(serial_at(step, 10), 2048, scene.site(12), variable);
      variable.text = "weights";
      scene.kept_as(serial_at(step, 20), 1024, scene.site(13), variable);
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{20, 40, 60}));
  EXPECT_EQ(run.only().advice, Advice::forget_modules);
}

// A tensor that the step worked with is no entry that has left.
TEST(Containers, AFewThatLeftAreNoQueue) {
  Dumps run([](Scene& scene) {
    if (scene.steps() == 10) scene.kept(serial_at(10, 5), 2048, scene.site(12), "hard[0]");
    for (int step = 11; step <= scene.steps(); ++step)
      scene.kept(serial_at(step, 10), 2048, scene.site(12), "hard[" + std::to_string(step) + "]");
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().advice, Advice::bound_container);
}

// Containers of one object that get as many entries each time are one leak; those of others, and variables, are not.
TEST(Containers, OfOneObjectThatAreFedTogether) {
  const auto two = [](const std::string& first, const std::string& second, int from) {
    return Dumps([=](Scene& scene) {
      for (int step = 1; step <= scene.steps(); ++step) {
        const std::string index = "[" + std::to_string(step) + "]";
        scene.kept(serial_at(step, 10), 4096, scene.site(12), first + index);
        if (step >= from) scene.kept(serial_at(step, 20), 2048, scene.site(13), second + index);
      }
    });
  };
  Dumps one = two("metric.preds", "metric.targets", 1);
  ASSERT_THAT(one.kinds(), ElementsAre("container"));
  EXPECT_EQ(one.only().holders.at(0), "train.py: metric.preds[1..30]; train.py: metric.targets[1..30]");
  EXPECT_EQ(one.only().growth.count, (std::vector<uint64_t>{20, 40, 60}));
  EXPECT_EQ(one.only().also_held_by, "");
  EXPECT_THAT(two("metric.preds", "metric.targets", 5).kinds(), ElementsAre("container", "container"));
  EXPECT_THAT(two("metric.preds", "metric.targets['all']", 1).kinds(), ElementsAre("container", "container"));
  EXPECT_THAT(two("first.preds", "second.preds", 1).kinds(), ElementsAre("container", "container"));
  EXPECT_THAT(two("preds", "targets", 1).kinds(), ElementsAre("container", "container"));
}

// What they have in common is no path. Of many it is all that can be said.
TEST(Containers, OfOneObjectAreNamedWhereTheyAreAFew) {
  const auto named = [](int lists) {
    Dumps run([lists](Scene& scene) {
      for (int step = 1; step <= scene.steps(); ++step) {
        for (int list = 0; list < lists; ++list) {
          const std::string name = std::string("metric.") + "abcdefgh"[list] + "_list[" + std::to_string(step) + "]";
          scene.kept(serial_at(step, 10 * (list + 1)), 4096 >> list, scene.site(12), name);
        }
      }
    });
    EXPECT_THAT(run.kinds(), ElementsAre("container"));
    return run.only().holders.at(0);
  };
  EXPECT_EQ(named(3), "train.py: metric.a_list[1..30]; train.py: metric.b_list[1..30]; train.py: metric.c_list[1..30]");
  EXPECT_EQ(named(5), "train.py: metric*");
}

TEST(Containers, OutputsOfCellsAreWhatANotebookKeeps) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept_as(serial_at(step, 10), 2048, scene.site(12),
                    {.text = "_oh[" + std::to_string(step) + "]", .scope = "__main__", .steps = 2});
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().advice, Advice::clear_cell_outputs);
}

// As a sparse tensor, whose values and indices are its parts.
TEST(Containers, EntriesCountWithWhatTheyRetain) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const testing::TensorSpec gradient = scene.plain(serial_at(step, 10), 2048, scene.site(11));
      scene.add(gradient);
      testing::TensorSpec entry = scene.plain(serial_at(step, 20), 1, scene.site(12));
      entry.grad = gradient.address;
      const uint64_t serial = scene.add(entry);
      scene.held(serial, "kept[" + std::to_string(step) + "]");
      scene.object(serial);
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().bytes, 30u * (8192 + 4));
  EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
}

TEST(Containers, EntriesThatHoldSeveralTensorsAreOneFinding) {
  Dumps run([](Scene& scene) {
    keeps(scene, "memory[", "].state", ReferenceRoot::global, 1, scene.steps());
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(serial_at(step, 30), 1024, scene.site(13), "memory[" + std::to_string(step) + "].reward");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: memory[1..30]");
  EXPECT_EQ(run.only().bytes, 30u * 12288);
  EXPECT_EQ(run.only().growth.bytes.back() - run.only().growth.bytes.front(), 20u * 12288);
}

TEST(Containers, EntriesOfAModuleDict) {
  const std::vector<std::string> names = {"de", "en", "fr", "it", "pl", "sv"};
  Dumps run([&](Scene& scene) {
    scene.kept(serial_at(0, 1), 2048, scene.site(1), "model.layers.0.base.weight");
    for (int step = 1; step <= scene.steps(); ++step) {
      const std::string name = names[size_t(step) % names.size()] + std::to_string(step);
      for (const char* layer : {"0", "1"}) {
        scene.kept(serial_at(step, 10 + 10 * (*layer - '0')), 2048, scene.site(12),
                   std::string("model.layers.") + layer + ".lora_A." + name + ".weight");
      }
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().holders.at(0), "train.py: model.layers.*.lora_A.*.weight");
  EXPECT_EQ(run.only().growth.bytes.back() - run.only().growth.bytes.front(), 20u * 16384);
  // Those that differ in a number alone, as attributes and the entries of a ModuleList do; with those of the first
  // dump.
  for (const auto& [before, after] : {std::pair("bank.image_", ""), {"model.layers.", ".weight"}}) {
    Dumps numbered([&, before = before, after = after](Scene& scene) {
      scene.kept(serial_at(0, 1), 2048, scene.site(1), "bank.mean");
      scene.kept(serial_at(0, 3), 2048, scene.site(1), "model.head.weight");
      keeps(scene, before, after, ReferenceRoot::global, 1, scene.steps());
    });
    ASSERT_THAT(numbered.kinds(), ElementsAre("container"));
    EXPECT_EQ(numbered.only().holders.at(0), std::string("train.py: ") + before + "*" + after);
    EXPECT_EQ(numbered.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
  }
  Dumps many([&](Scene& scene) {
    for (const char* layer : {"q", "k", "v", "o", "up", "down"}) {
      scene.kept(serial_at(1, 10 + *layer), 2048, scene.site(12), std::string("model.attention.") + layer + ".weight");
    }
  });
  EXPECT_THAT(many.kinds(), ElementsAre());
}

// Of an object, and of a module that is imported; not of the main script, whose variables have names by hand.
TEST(Containers, AttributesOfOneObjectByAnyName) {
  const auto name = [](int step) { return std::string(size_t(step), 'w'); };
  for (const auto& [before, beginning] : {std::pair("bank.", uint64_t{0}), {"", 77}, {"", 0}}) {
    Dumps run([&, before = before, beginning = beginning](Scene& scene) {
      scene.kept(serial_at(0, 1), 2048, scene.site(1), "model.weight");
      for (int step = 1; step <= scene.steps(); ++step) {
        scene.kept_as(serial_at(step, 10), 2048, scene.site(12),
                      {.text = before + name(step), .scope = "train.py", .steps = 1, .begins_at = beginning});
      }
    });
    if (*before == 0 && beginning == 0) {
      EXPECT_THAT(run.kinds(), ElementsAre());
      continue;
    }
    ASSERT_THAT(run.kinds(), ElementsAre("container"));
    EXPECT_EQ(run.only().holders.at(0), std::string("train.py: ") + before + "*");
    EXPECT_EQ(run.only().growth.count, (std::vector<uint64_t>{10, 20, 30}));
    EXPECT_EQ(run.only().also_held_by, "");
  }
}

TEST(Containers, GrowthIsWhatTheEntriesRetain) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const uint32_t node = scene.node(serial_at(step, 1), testing::kTanh);
      scene.saved(serial_at(step, 5), 1024, scene.site(31), node);
      testing::TensorSpec tensor = scene.plain(serial_at(step, 10), 2048, scene.site(12));
      tensor.grad_fn = scene.builder.graph_address(node);
      scene.held(scene.add(tensor), "outputs[" + std::to_string(step) + "]");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("container"));
  EXPECT_EQ(run.only().growth.bytes.back() - run.only().growth.bytes.front(), 20u * 12288);
}

TEST(Containers, AGraphThatOnlySomeEntriesHave) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const uint32_t node = scene.node(serial_at(step, 1), testing::kTanh);
      scene.saved(serial_at(step, 5), 4096, scene.site(31), node);
      testing::TensorSpec tensor = scene.plain(serial_at(step, 10), 16, scene.site(12));
      tensor.grad_fn = scene.builder.graph_address(node);
      const std::string entry = "buffer[" + std::to_string(step) + "]";
      scene.held(scene.add(tensor), entry + "['action']");
      scene.kept(serial_at(step, 20), 16, scene.site(13), entry + "['state']");
      scene.kept(serial_at(step, 30), 16, scene.site(14), entry + "['reward']");
    }
  });
  ASSERT_THAT(run.kinds(), ElementsAre("accumulated-graph"));
  EXPECT_EQ(run.only().evidence.at(0).values, (std::vector<uint64_t>{10, 20, 30}));
}

TEST(Containers, AChainOfObjectsAndAClosure) {
  Dumps chain([](Scene& scene) {
    std::string text = "head";
    for (int step = 1; step <= scene.steps(); ++step) {
      scene.kept(serial_at(step, 10), 2048, scene.site(12), text + ".value", ReferenceRoot::local);
      text += ".next";
    }
  });
  ASSERT_THAT(chain.kinds(), ElementsAre("container"));
  EXPECT_EQ(chain.only().holders.at(0), "head.next*.value (local of main)");
  Dumps closure(
      [](Scene& scene) { keeps(scene, "closure of functions[", "]: loss", ReferenceRoot::local, 1, scene.steps()); });
  EXPECT_THAT(closure.kinds(), ElementsAre("container"));
}

TEST(Containers, LargeTensorsWhoseGraphsWereFreed) {
  Dumps run([](Scene& scene) {
    for (int step = 1; step <= scene.steps(); ++step) {
      const uint32_t node = scene.node(serial_at(step, 1), testing::kTanh);
      testing::TensorSpec tensor = scene.plain(serial_at(step, 10), 2048, scene.site(12));
      tensor.grad_fn = scene.builder.graph_address(node);
      scene.held(scene.add(tensor), "outputs[" + std::to_string(step) + "]");
    }
  });
  EXPECT_THAT(run.kinds(), ElementsAre("container"));
}

TEST(Containers, ThoseThatAreFullOrFilledOnceAreNone) {
  Dumps full(
      [](Scene& scene) { keeps(scene, "queue[", "]", ReferenceRoot::global, scene.steps() - 8, scene.steps()); });
  EXPECT_THAT(full.kinds(), ElementsAre());
  Dumps filled(
      [](Scene& scene) { keeps(scene, "cache[", "]", ReferenceRoot::global, 1, std::min(12, scene.steps())); });
  EXPECT_THAT(filled.kinds(), ElementsAre());
  EXPECT_FALSE(filled.leaks.found());
}

// A tree that becomes deeper: no two of its tensors have one form, and all are reached from it.
TEST(Containers, OfPartsThatHaveNoNameInCommon) {
  const auto dumps_of = [](const std::string& other) {
    return Dumps([other](Scene& scene) {
      for (int step = 1; step <= scene.steps(); ++step) {
        std::string text = step % 2 == 0 || other.empty() ? "server.tree" : other;
        for (int bit = 1; bit <= step; bit *= 2) text += (step & bit) != 0 ? ".left" : ".right";
        scene.kept(serial_at(step, 10), 4096, scene.site(12), text);
      }
    });
  };
  Dumps one = dumps_of("");
  ASSERT_THAT(one.kinds(), ElementsAre("container"));
  EXPECT_THAT(one.only().holders, ElementsAre("train.py: server.tree"));
  EXPECT_EQ(one.only().growth.bytes, (std::vector<uint64_t>{10 * 16384, 20 * 16384, 30 * 16384}));
  EXPECT_THAT(dumps_of("client.tree").kinds(), ElementsAre());  // neither has nearly all
}

}  // namespace
}  // namespace tensorscope::analyzer
