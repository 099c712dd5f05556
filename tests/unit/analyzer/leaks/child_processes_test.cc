// SPDX-License-Identifier: Apache-2.0
#include "leaks/child_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/compared_dumps.h"
#include "scene.h"

namespace tensorscope::analyzer {
namespace {

using testing::Dumps;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Scene;
using testing::serial_at;

constexpr int64_t kEntryFloats = 8192;

Dump dump_of(uint32_t pid, uint32_t parent, const std::string& run) {
  Dump dump;
  dump.process.pid = pid;
  dump.process.parent_pid = parent;
  dump.process.run_id = run;
  return dump;
}

TEST(ChildProcesses, DumpsOfAProcessAndItsChildrenAreAFamily) {
  std::vector<Dump> dumps;
  dumps.push_back(dump_of(12, 10, "b"));
  dumps.push_back(dump_of(10, 1, "a"));
  dumps.push_back(dump_of(13, 12, "c"));
  dumps.push_back(dump_of(12, 10, "b"));
  const ProcessFamily family = family_of(std::move(dumps));
  ASSERT_EQ(family.parent.size(), 1u);
  EXPECT_EQ(family.parent[0].process.pid, 10u);
  ASSERT_EQ(family.children.size(), 2u);
  EXPECT_EQ(family.children[0].size(), 2u);
  EXPECT_EQ(family.children[1].size(), 1u);
}

TEST(ChildProcesses, TwoRunsOfAProgramAreNone) {
  std::vector<Dump> dumps;
  dumps.push_back(dump_of(10, 1, "a"));
  dumps.push_back(dump_of(11, 1, "b"));
  const ProcessFamily family = family_of(std::move(dumps));
  EXPECT_EQ(family.parent.size(), 2u);
  EXPECT_THAT(family.children, IsEmpty());
}

// A shell in between has no dump.
TEST(ChildProcesses, ADumpThatAnAncestorAskedForIsOfItsFamily) {
  std::vector<Dump> dumps;
  dumps.push_back(dump_of(10, 1, "a"));
  dumps.push_back(dump_of(14, 12, "d"));
  dumps.back().process.asked_by_run = "a";
  const ProcessFamily family = family_of(std::move(dumps));
  ASSERT_EQ(family.parent.size(), 1u);
  EXPECT_EQ(family.parent[0].process.pid, 10u);
  EXPECT_EQ(family.children.size(), 1u);
}

Dumps worker(uint32_t pid, const std::string& list) {
  return Dumps([&](Scene& scene) {
    scene.builder.pid = pid;
    for (int step = 1; step <= scene.steps(); ++step)
      scene.kept(serial_at(step, 10), kEntryFloats, scene.site(57), list + "[" + std::to_string(step) + "]");
  });
}

// The parent keeps nothing; what it knows of its children is their private memory, which grows by so much each time.
Dumps parent(uint64_t private_mib) {
  return Dumps([&](Scene& scene) {
    scene.builder.anonymous_bytes = 50 << 20;
    scene.builder.children = 2;
    scene.builder.children_private_bytes = (100 + uint64_t(scene.steps()) / 10 * private_mib) << 20;
    scene.builder.children_resident_bytes = scene.builder.children_private_bytes;
  });
}

void add_worker(Dumps& all, uint32_t pid, const std::string& list) {
  Dumps child = worker(pid, list);
  add_findings_of_child(all.leaks, child.views(), std::move(child.leaks));
}

TEST(ChildProcesses, WhatChildrenKeepIsAFindingOfTheirParent) {
  Dumps all = parent(0);
  EXPECT_FALSE(all.leaks.found());
  add_worker(all, 71, "seen");
  add_worker(all, 72, "seen");
  add_worker(all, 73, "other");
  leave_out_explained_children(all.leaks);
  ASSERT_EQ(all.leaks.findings.size(), 2u);
  const LeakFinding& finding = all.leaks.findings[0];
  EXPECT_THAT(finding.holders, ElementsAre("train.py: seen[1..30]"));
  ASSERT_TRUE(finding.of_children);
  EXPECT_THAT(finding.of_children->processes, ElementsAre(71u, 72u));
  EXPECT_EQ(finding.of_children->place.where, "train.py:57 step");
  EXPECT_EQ(finding.bytes, uint64_t{2 * 30 * kEntryFloats * 4});
  EXPECT_EQ(finding.growth.added_bytes(), 2 * 20 * kEntryFloats * 4);
  EXPECT_THAT(finding.tensors, IsEmpty());
  EXPECT_TRUE(all.leaks.found());
}

TEST(ChildProcesses, TheirMemoryIsNoFindingBesideWhatTheyKeep) {
  for (const uint64_t private_mib : {1u, 40u}) {
    Dumps all = parent(private_mib);
    EXPECT_THAT(all.kinds(), ElementsAre("child-processes"));
    add_worker(all, 71, "seen");
    add_worker(all, 72, "seen");
    leave_out_explained_children(all.leaks);
    // What they keep grew by 1.3 MiB, which is not what 80 MiB are.
    EXPECT_EQ(all.leaks.findings.size(), private_mib == 1 ? 1u : 2u);
  }
}

// They copy pages of their parent's for a dump.
TEST(ChildProcesses, TheirMemoryIsNoPartOfAnAnswerWithTheirDumps) {
  Dumps all = parent(40);
  const auto of_children = ::testing::Contains(::testing::Field(&Fact::kind, FactKind::children_private));
  EXPECT_THAT(all.leaks.process.parts, of_children);
  EXPECT_EQ(all.leaks.process.grew_most, FactKind::children_private);
  leave_out_explained_children(all.leaks);
  EXPECT_THAT(all.leaks.process.parts, ::testing::Not(of_children));
  EXPECT_EQ(all.leaks.process.grew_most, std::nullopt);
}

TEST(ChildProcesses, EachChildMayGoByAnIndexOfItsOwn) {
  Dumps all = parent(0);
  add_worker(all, 71, "workers[0].seen['a']");
  add_worker(all, 72, "workers[1].seen['a']");
  add_worker(all, 73, "workers[1].seen['b']");
  ASSERT_EQ(all.leaks.findings.size(), 2u);
  EXPECT_THAT(all.leaks.findings[0].holders, ElementsAre("train.py: workers[*].seen['a'][1..30]"));
  EXPECT_THAT(all.leaks.findings[1].holders, ElementsAre("train.py: workers[1].seen['b'][1..30]"));
}

// A child that began in step 5 of its parent wrote its dumps with those of the steps 20 and 30.
class SinceBeginning : public ::testing::Test {
 protected:
  // Whether a list that has so many entries in the two dumps is a finding.
  bool confirms(uint64_t first, uint64_t last) {
    std::vector<Dump> parents(2), children(2);
    for (size_t i = 0; i < 2; ++i) {
      Process &asks = parents[i].process, &child = children[i].process;
      asks.run_id = child.asked_by_run = "parent";
      asks.dump_number = uint32_t(i) + 1;
      asks.step = 20 + int64_t(i) * 10;
      asks.dump_ns = child.dump_ns = 1000 + i;
      parents[i].history.points = points_;
      child.run_id = "child";
      child.start_ns = 250;
      child.asked_by_dump = first_asked_by_ + uint32_t(i);
    }
    Leaks leaks;
    LeakFinding list;
    list.kind = LeakKind::process_memory;
    list.counts = LeakFinding::Counts::entries;
    list.holders = {"seen"};
    list.growth.count = {first, last};
    leaks.remarks.push_back({Remark::Reason::one_interval, std::move(list)});
    ComparedDumps child(std::move(children), {}, {}), parent(std::move(parents), {}, {});
    confirm_since_beginning(leaks, child.views(), parent.views());
    EXPECT_EQ(leaks.remarks.size() + leaks.findings.size(), 1u);
    return leaks.found();
  }
  std::vector<HistoryPoint> points_ = {{.ns = 100, .step = 1}, {.ns = 200, .step = 5}, {.ns = 900, .step = 30}};
  uint32_t first_asked_by_ = 1;
};

TEST_F(SinceBeginning, AsManyAStepGoOn) {
  EXPECT_TRUE(confirms(150, 250));
  EXPECT_FALSE(confirms(10, 250)) << "it began to fill later";
  EXPECT_FALSE(confirms(400, 450)) << "it was filled before";
}

TEST_F(SinceBeginning, WithoutADumpOfTheParentsNothingIsKnown) {
  first_asked_by_ = 7;
  EXPECT_FALSE(confirms(150, 250));
}

TEST_F(SinceBeginning, WithoutTheParentsHistoryNothingIsKnown) {
  points_.clear();
  EXPECT_FALSE(confirms(150, 250));
}

}  // namespace
}  // namespace tensorscope::analyzer
