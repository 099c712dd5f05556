// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/cycles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fake_objects.h"

namespace tensorscope::python::heap_inspector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Objects;
using ::testing::SizeIs;

std::vector<std::vector<uint32_t>> cycles(Objects& objects) {
  const ObjectGraph& graph = objects.read_whole();
  return root_cycles(graph, reachable_objects(graph), testing::never());
}

TEST(RootCycles, AreNoneWhereAllIsKept) {
  Objects objects;
  objects.add_many(2);
  objects.hold(0);
  objects.refer(0, 1);
  objects.refer(1, 0);
  EXPECT_THAT(cycles(objects), IsEmpty());
}

TEST(RootCycles, HaveTheirMembersAndNotWhatTheyHold) {
  Objects objects;
  objects.add_many(7);
  objects.refer(2, 0);  // 0 -> 1 -> 2 -> 0, which holds 3 and the cycle of 4 and 5
  objects.refer(0, 1);
  objects.refer(1, 2);
  objects.refer(1, 3);
  objects.refer(3, 5);
  objects.refer(4, 5);
  objects.refer(5, 4);
  objects.refer(6, 6);  // another one
  EXPECT_THAT(cycles(objects), ::testing::UnorderedElementsAre(ElementsAre(0, 1, 2), ElementsAre(6)));
}

TEST(RootCycles, OverlapInOneComponent) {
  Objects objects;
  objects.add_many(5);
  for (const auto& [from, to] : {std::pair(0, 1), {1, 0}, {1, 2}, {2, 3}, {3, 1}, {3, 4}}) objects.refer(from, to);
  EXPECT_THAT(cycles(objects), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(RootCycles, AreOnlyOfGarbage) {
  Objects objects;
  objects.add_many(4);
  objects.refer(0, 1);
  objects.refer(1, 0);
  objects.refer(1, 2);  // kept by something else, too
  objects.hold(2);
  objects.refer(2, 3);
  objects.refer(3, 2);
  EXPECT_THAT(cycles(objects), ElementsAre(ElementsAre(0, 1)));
}

TEST(RootCycles, MayBeAsLongAsThereAreObjects) {
  constexpr uint32_t kMany = 300'000;
  Objects objects;
  objects.add_many(kMany);
  for (uint32_t i = 0; i < kMany; ++i) objects.refer(i, (i + 1) % kMany);
  EXPECT_THAT(cycles(objects), ElementsAre(SizeIs(kMany)));
}

// By definition: two objects are of one component where each leads to the other.
std::vector<std::vector<uint32_t>> by_definition(const ObjectGraph& graph, const std::vector<bool>& reachable) {
  const uint32_t size = uint32_t(graph.size());
  std::vector<std::vector<bool>> leads(size, std::vector<bool>(size));
  for (uint32_t i = 0; i < size; ++i) {
    leads[i][i] = true;
    for (const uint32_t to : graph.references(i)) leads[i][to] = true;
  }
  for (uint32_t k = 0; k < size; ++k)
    for (uint32_t i = 0; i < size; ++i)
      for (uint32_t j = 0; j < size; ++j)
        if (leads[i][k] && leads[k][j]) leads[i][j] = true;
  std::vector<std::vector<uint32_t>> sources;
  for (uint32_t i = 0; i < size; ++i) {
    if (reachable[i]) continue;
    std::vector<uint32_t> members;
    bool source = true;
    for (uint32_t j = 0; j < size; ++j) {
      if (reachable[j] || !leads[j][i]) continue;
      if (leads[i][j]) members.push_back(j);
      source &= leads[i][j];
    }
    if (source && members[0] == i) sources.push_back(members);
  }
  return sources;
}

TEST(RootCycles, AreThoseOfTheDefinition) {
  std::mt19937 random(1);
  size_t found = 0;
  for (int round = 0; round < 500; ++round) {
    Objects objects;
    const uint32_t size = 1 + random() % 12;
    objects.add_many(size);
    for (uint32_t edges = random() % (2 * size); edges > 0; --edges) objects.refer(random() % size, random() % size);
    if (random() % 2) objects.hold(random() % size);
    const ObjectGraph& graph = objects.read_whole();
    const std::vector<bool> reachable = reachable_objects(graph);
    auto expected = by_definition(graph, reachable), actual = root_cycles(graph, reachable, testing::never());
    std::sort(actual.begin(), actual.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(actual, expected) << "round " << round;
    found += actual.size();
  }
  EXPECT_GT(found, 500u);
}

}  // namespace
}  // namespace tensorscope::python::heap_inspector
