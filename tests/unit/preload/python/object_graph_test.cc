// SPDX-License-Identifier: Apache-2.0
// Covers: preload/python/heap_inspector/rows/tensor_batches.cc
#include "python/heap_inspector/graph/object_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_objects.h"
#include "support/enough_memory.h"

namespace tensorscope::python::heap_inspector {
namespace {

using ::testing::ElementsAre;
using testing::FakeObjects;
using testing::never;
using testing::Objects;

std::vector<uint32_t> references(const ObjectGraph& graph, uint32_t i) {
  return {graph.references(i).begin(), graph.references(i).end()};
}

TEST(ObjectGraph, HasTheReferencesInTheirOrderAndAsOftenAsTheyAre) {
  Objects objects;
  objects.add_many(3);
  objects.refer(0, 2);
  objects.refer(0, 1);
  objects.refer(0, 2);
  objects.hold(2);
  const ObjectGraph& graph = objects.read_whole();
  ASSERT_EQ(graph.size(), 3u);
  EXPECT_THAT(references(graph, 0), ElementsAre(2, 1, 2));
  EXPECT_THAT(references(graph, 1), ElementsAre());
  EXPECT_EQ(graph.inside_references(2), 2u);
  EXPECT_EQ(graph.outside_references(2), 1);
  EXPECT_EQ(graph.outside_references(1), 0);
  EXPECT_EQ(graph.find(objects.object(1)), 1u);
  EXPECT_EQ(graph.find(reinterpret_cast<Object*>(&objects)), kNoObject);
  EXPECT_TRUE(graph.complete());
}

TEST(ObjectGraph, FindsWhatTheListHidesWhereSomethingRefersToIt) {
  Objects objects;
  objects.add_many(2);
  const uint32_t frozen = objects.add(true), alone = objects.add(true), untracked = objects.add(true);
  objects.hide_from_collector(untracked);
  objects.refer(1, frozen);
  objects.refer(1, untracked);
  objects.refer(frozen, 0);
  const ObjectGraph& graph = objects.read_whole();
  ASSERT_EQ(graph.size(), 3u);
  EXPECT_THAT(references(graph, 1), ElementsAre(2));
  EXPECT_THAT(references(graph, 2), ElementsAre(0));
  EXPECT_EQ(graph.find(objects.object(alone)), kNoObject);

  const char* detail = "";
  ObjectGraph with(objects.gil_, never());
  EXPECT_TRUE(objects.read(with, detail, {objects.object(alone)}));
  EXPECT_EQ(with.find(objects.object(alone)), 0u);
}

TEST(ObjectGraph, BeginsWhereItIsToldAndGoesOnWithWhatIsNear) {
  FakeObjects objects;
  objects.add_many(6);
  objects.refer(4, 2);
  objects.refer(4, 3);
  objects.refer(2, 5);
  const Gil gil = objects.gil();
  ObjectGraph graph(gil, never());
  const char* detail = "";
  ASSERT_TRUE(objects.read(graph, detail, {objects.object(4)}));
  std::vector<Object*> order;
  for (uint32_t i = 0; i < graph.size(); ++i) order.push_back(graph.object(i));
  std::vector<Object*> expected;
  for (const uint32_t i : {4, 2, 3, 5, 0, 1}) expected.push_back(objects.object(i));
  EXPECT_EQ(order, expected);
}

TEST(ObjectGraph, KeepsWhatIsNearWhereTheTimeIsUp) {
  FakeObjects objects;
  objects.add_many(100);
  for (uint32_t i = 0; i + 1 < 100; ++i) objects.refer(i, i + 1);
  const Gil gil = objects.gil();
  LookLimits limits(Deadline{0}, 20);
  ObjectGraph graph(gil, limits);
  const char* detail = "";
  EXPECT_FALSE(objects.read(graph, detail, {objects.object(0)}));
  EXPECT_EQ(limits.stop(), LookLimits::Stop::time);
  EXPECT_FALSE(graph.complete());
  EXPECT_GT(graph.size(), 5u);
  EXPECT_LE(graph.size(), 21u);
  EXPECT_THAT(references(graph, 3), ElementsAre(4));
  EXPECT_THAT(references(graph, uint32_t(graph.size() - 1)), ElementsAre());
  EXPECT_EQ(graph.find(objects.object(99)), kNoObject);
}

TEST(ObjectGraph, OneObjectWithManyReferencesIsLeftInTime) {
  constexpr uint32_t kMany = 1'000'000;
  FakeObjects objects;
  objects.add_many(2);
  for (uint32_t i = 0; i < kMany; ++i) objects.refer(0, 1);
  const Gil gil = objects.gil();
  LookLimits limits(Deadline{0}, 100);
  ObjectGraph graph(gil, limits);
  const char* detail = "";
  const size_t before = FakeObjects::told();
  EXPECT_FALSE(objects.read(graph, detail, {objects.object(0)}));
  EXPECT_LE(FakeObjects::told() - before, 100u);
  EXPECT_TRUE(graph.references(0).empty());
  EXPECT_EQ(graph.inside_references(0), 0u);
}

TEST(ObjectGraph, TakesNoMoreMemoryThanItMay) {
  constexpr uint32_t kMany = 100'000;
  constexpr uint64_t kLimit = uint64_t{2} << 20;
  FakeObjects objects;
  objects.add_many(kMany);
  for (uint32_t i = 0; i + 1 < kMany; ++i) objects.refer(i, i + 1);
  const Gil gil = objects.gil();
  MemoryLimit memory(kLimit);
  LookLimits limits = LookLimits::none();
  ObjectGraph graph(gil, limits);
  const char* detail = "";
  EXPECT_FALSE(objects.read(graph, detail, {objects.object(0)}));
  EXPECT_EQ(limits.stop(), LookLimits::Stop::memory);
  EXPECT_LE(memory.peak_taken(), kLimit);
  EXPECT_GT(graph.size(), 10'000u);
  EXPECT_LT(graph.size(), kMany);
}

TEST(ObjectGraph, TakesLittleMemoryForEachObject) {
  constexpr uint32_t kMany = 1'000'000;
  FakeObjects objects;
  objects.add_many(kMany);
  for (uint32_t i = 0; i + 1 < kMany; ++i) objects.refer(i, i + 1);
  MemoryLimit memory(UINT64_MAX);
  LookLimits limits = LookLimits::none();
  const Gil gil = objects.gil();
  ObjectGraph graph(gil, limits);
  const char* detail = "";
  ASSERT_TRUE(objects.read(graph, detail));
  EXPECT_LE(memory.taken(), kMany * 60u);
  EXPECT_LE(memory.peak_taken(), kMany * 60u);
}

TEST(ObjectGraph, TellsWhatIsKeptByAnythingAtAll) {
  Objects objects;
  objects.add_many(6);
  objects.hold(0);
  objects.refer(0, 1);
  objects.refer(1, 2);
  objects.refer(2, 1);
  objects.refer(3, 4);  // a cycle that refers to what is kept
  objects.refer(4, 3);
  objects.refer(4, 2);
  objects.refer(3, 5);
  EXPECT_THAT(reachable_objects(objects.read_whole()), ElementsAre(true, true, true, false, false, false));
}

}  // namespace
}  // namespace tensorscope::python::heap_inspector
