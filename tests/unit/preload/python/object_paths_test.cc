// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/object_paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fake_objects.h"

namespace tensorscope::python::heap_inspector {
namespace {

using format::ReferenceRoot;
using testing::never;
using testing::Objects;

Root root(uint32_t object, const std::string& name) { return {object, ReferenceRoot::global, name, "train.py"}; }

class ObjectPathsTest : public ::testing::Test {
 protected:
  // A chain from 0 to the last, and a short cut from 0 to 3.
  void chain(uint32_t size) {
    objects_.add_many(size);
    for (uint32_t i = 0; i + 1 < size; ++i) objects_.refer(i, i + 1);
    objects_.refer(0, 3);
  }
  Objects objects_;
};

TEST_F(ObjectPathsTest, AreTheShortest) {
  chain(6);
  ObjectPaths paths(objects_.read_whole(), never());
  paths.add(root(0, "model"));
  ASSERT_TRUE(paths.spread());
  EXPECT_EQ(paths.parent(3), 0u);
  EXPECT_EQ(paths.depth(3), 1u);
  EXPECT_EQ(paths.depth(5), 3u);
  EXPECT_EQ(paths.root_of(5)->name, "model");
  EXPECT_FALSE(paths.root(5).has_value());
  EXPECT_TRUE(paths.root(0).has_value());
}

TEST_F(ObjectPathsTest, AnEarlierRootKeepsWhatItLeadsTo) {
  chain(6);
  ObjectPaths paths(objects_.read_whole(), never());
  paths.add(root(1, "first"));
  ASSERT_TRUE(paths.spread());
  paths.add(root(0, "second"));
  paths.add(root(5, "third"));
  ASSERT_TRUE(paths.spread());
  EXPECT_EQ(paths.root_of(3)->name, "first");
  EXPECT_EQ(paths.depth(3), 2u);
  EXPECT_EQ(paths.root_of(0)->name, "second");
  EXPECT_EQ(paths.root_of(5)->name, "first");
}

TEST_F(ObjectPathsTest, NoneLeadsThroughWhatIsClosedUntilItIsARoot) {
  chain(6);
  ObjectPaths paths(objects_.read_whole(), never());
  paths.close(3);
  paths.add(root(0, "model"));
  ASSERT_TRUE(paths.spread());
  EXPECT_TRUE(paths.reached(2));
  EXPECT_FALSE(paths.reached(3));
  EXPECT_FALSE(paths.unreached(3));
  EXPECT_TRUE(paths.unreached(4));
  paths.add(root(3, "module"));
  ASSERT_TRUE(paths.spread());
  EXPECT_EQ(paths.root_of(5)->name, "module");
}

TEST_F(ObjectPathsTest, AnotherParentIsPreferredAndDropped) {
  chain(6);
  ObjectPaths paths(objects_.read_whole(), never());
  paths.add(root(0, "model"));
  ASSERT_TRUE(paths.spread());
  paths.prefer_parent(3, 2);
  EXPECT_TRUE(paths.has_other_parent(3));
  EXPECT_EQ(paths.parent(3), 2u);
  paths.drop_other_parent(3);
  EXPECT_EQ(paths.parent(3), 0u);
}

TEST_F(ObjectPathsTest, SayWhenTheTimeIsUp) {
  chain(6);
  LookLimits limits(Deadline{0}, 4);
  ObjectPaths paths(objects_.read_whole(), limits);
  paths.add(root(0, "model"));
  EXPECT_FALSE(paths.spread());
  EXPECT_TRUE(paths.reached(1));
  EXPECT_TRUE(paths.unreached(5));
}

TEST_F(ObjectPathsTest, AreAsShortAsRelaxingEveryReferenceFinds) {
  std::mt19937 random(1);
  constexpr uint32_t kSize = 60, kFar = 1000;
  for (int round = 0; round < 100; ++round) {
    Objects objects;
    objects.add_many(kSize);
    for (int i = 0; i < 90; ++i) objects.refer(random() % kSize, random() % kSize);
    const ObjectGraph& graph = objects.read_whole();
    ObjectPaths paths(graph, never());
    std::vector<uint32_t> distance(kSize, kFar);
    for (int i = 0; i < 3; ++i) {
      const uint32_t object = random() % kSize;
      paths.add(root(object, "root"));
      distance[object] = 0;
    }
    ASSERT_TRUE(paths.spread());
    for (uint32_t pass = 0; pass < kSize; ++pass)
      for (uint32_t from = 0; from < kSize; ++from)
        for (const uint32_t to : graph.references(from)) distance[to] = std::min(distance[to], distance[from] + 1);
    for (uint32_t i = 0; i < kSize; ++i) {
      ASSERT_EQ(paths.reached(i), distance[i] < kFar) << i;
      if (paths.reached(i)) {
        ASSERT_EQ(paths.depth(i), distance[i]) << i;
      }
    }
  }
}

}  // namespace
}  // namespace tensorscope::python::heap_inspector
