// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/keepers.h"

#include <gtest/gtest.h>

#include <optional>

#include "fake_objects.h"

namespace tensorscope::python::heap_inspector {
namespace {

using format::ReferenceRoot;
using testing::FakeObjects;
using testing::never;

constexpr uint64_t kEach = 16;  // the collector's header: such an object has nothing else

// Objects of which 0 is a root.
class KeepersTest : public ::testing::Test {
 protected:
  const Keepers& read(const std::vector<uint32_t>& roots = {0}, const std::vector<uint32_t>& garbage = {}) {
    const char* detail = "";
    EXPECT_TRUE(objects_.read(graph_, detail));
    paths_.emplace(graph_, never());
    for (const uint32_t root : roots) paths_->add({root, ReferenceRoot::global, "name", "train.py"});
    EXPECT_TRUE(paths_->spread());
    for (const uint32_t root : garbage) paths_->add({root, ReferenceRoot::cycle, "name", "Node"});
    EXPECT_TRUE(paths_->spread());
    keepers_.emplace(graph_, *paths_, never());
    EXPECT_TRUE(keepers_->run());
    return *keepers_;
  }

  FakeObjects objects_;
  const Gil gil_ = objects_.gil();
  const KnownClasses classes_{};
  ObjectSizes sizes_{gil_, classes_};
  ObjectGraph graph_{gil_, never(), nullptr, &sizes_};
  std::optional<ObjectPaths> paths_;
  std::optional<Keepers> keepers_;
};

TEST_F(KeepersTest, AnObjectKeepsWhatItAloneLeadsTo) {
  objects_.add_many(4);
  for (uint32_t i = 0; i < 3; ++i) objects_.refer(i, i + 1);
  const Keepers& keepers = read();
  EXPECT_EQ(keepers.keeper(0), kNoObject);
  EXPECT_EQ(keepers.keeper(3), 2u);
  EXPECT_EQ(keepers.bytes(0), 4 * kEach);
  EXPECT_EQ(keepers.bytes(2), 2 * kEach);
}

// A list and an index of the same things, both of one object.
TEST_F(KeepersTest, WhatTwoReferToIsKeptWhereTheirChainsMeet) {
  objects_.add_many(6);
  objects_.refer(0, 1);
  for (const uint32_t holder : {2u, 3u}) {
    objects_.refer(1, holder);
    objects_.refer(holder, 4);
    objects_.refer(holder, 5);
  }
  const Keepers& keepers = read();
  EXPECT_EQ(keepers.keeper(4), 1u);
  EXPECT_EQ(keepers.bytes(1), 5 * kEach);
  EXPECT_EQ(keepers.bytes(2), kEach);
}

// Each entry refers to the one before it, as in a list with two ends, and to what has all.
TEST_F(KeepersTest, AReferenceBackChangesNothing) {
  objects_.add_many(5);
  for (uint32_t i = 0; i < 4; ++i) objects_.refer(i, i + 1);
  for (uint32_t i = 1; i < 5; ++i) objects_.refer(i, i - 1);
  objects_.refer(4, 1);
  const Keepers& keepers = read();
  EXPECT_EQ(keepers.keeper(4), 3u);
  EXPECT_EQ(keepers.bytes(1), 4 * kEach);
}

// The far end of a chain refers to something early: all between lose what is behind it.
TEST_F(KeepersTest, AMeetingMovesUpAfterAnother) {
  objects_.add_many(7);
  for (uint32_t i = 0; i < 4; ++i) objects_.refer(i, i + 1);  // 0 -> 1 -> 2 -> 3 -> 4
  objects_.refer(0, 5);
  objects_.refer(5, 6);
  objects_.refer(6, 3);
  objects_.refer(2, 4);
  const Keepers& keepers = read();
  EXPECT_EQ(keepers.keeper(3), 0u);
  EXPECT_EQ(keepers.keeper(4), 0u);
  EXPECT_EQ(keepers.bytes(2), kEach);
}

// It counts with the one by which it is named: the first.
TEST_F(KeepersTest, WhatTwoRootsLeadToNoneKeepsAlone) {
  objects_.add_many(4);
  objects_.refer(0, 2);
  objects_.refer(1, 2);
  objects_.refer(2, 3);
  const Keepers& keepers = read({0, 1});
  EXPECT_EQ(keepers.keeper(2), kNoObject);
  EXPECT_EQ(keepers.owner(2), 0u);
  EXPECT_EQ(keepers.keeper(3), 2u);
  EXPECT_EQ(keepers.owner(0), kNoObject);
  EXPECT_EQ(keepers.bytes(0), 3 * kEach);
  EXPECT_EQ(keepers.bytes(1), kEach);
  EXPECT_EQ(keepers.bytes(2), 2 * kEach);
}

// Object 1 is a cycle that nothing refers to.
TEST_F(KeepersTest, GarbageKeepsNothingThatIsInUse) {
  objects_.add_many(4);
  objects_.refer(0, 2);
  objects_.refer(1, 1);
  objects_.refer(1, 2);
  objects_.refer(1, 3);
  const Keepers& keepers = read({0}, {1});
  EXPECT_EQ(keepers.keeper(2), 0u);
  EXPECT_EQ(keepers.keeper(3), 1u);
  EXPECT_EQ(keepers.bytes(0), 2 * kEach);
}

}  // namespace
}  // namespace tensorscope::python::heap_inspector
