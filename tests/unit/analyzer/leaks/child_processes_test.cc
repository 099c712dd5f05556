// SPDX-License-Identifier: Apache-2.0
#include "leaks/child_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tensorscope::analyzer
