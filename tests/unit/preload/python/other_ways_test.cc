// SPDX-License-Identifier: Apache-2.0
#include "python/heap_inspector/graph/other_ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "fake_objects.h"

namespace tensorscope::python::heap_inspector {
namespace {

using format::ReferenceRoot;
using ::testing::ElementsAre;
using testing::FakeObjects;
using ::testing::IsEmpty;
using testing::never;

// Objects of which 0 is the root.
class OtherWaysTest : public ::testing::Test {
 protected:
  void refer(uint32_t from, const std::vector<uint32_t>& to) {
    for (const uint32_t each : to) objects_.refer(from, each);
  }
  // The parents that lead to the nearest shared object of this one's chain in other ways.
  std::vector<uint32_t> others(uint32_t object) {
    const char* detail = "";
    EXPECT_TRUE(objects_.read(graph_, detail));
    paths_.emplace(graph_, never());
    paths_->add({0, ReferenceRoot::global, "name", "train.py"});
    EXPECT_TRUE(paths_->spread());
    keepers_.emplace(graph_, *paths_, never());
    EXPECT_TRUE(keepers_->run());
    ways_.emplace(graph_, *paths_, *keepers_, never());
    number_ = ways_->nearest(object);
    EXPECT_TRUE(ways_->find());
    if (number_ == OtherWays::kNone) return {};
    const std::span<const uint32_t> found = ways_->parents(ways_->all()[number_]);
    return {found.begin(), found.end()};
  }
  const OtherWays::Shared& shared() const { return ways_->all()[number_]; }

  FakeObjects objects_;
  const Gil gil_ = objects_.gil();
  ObjectGraph graph_{gil_, never()};
  std::optional<ObjectPaths> paths_;
  std::optional<Keepers> keepers_;
  std::optional<OtherWays> ways_;
  uint32_t number_ = OtherWays::kNone;
};

// A list (1) and an index (2) have a record (3), which has a dict (4).
TEST_F(OtherWaysTest, ARecordOfAListAndOfAnIndexHasTwo) {
  objects_.add_many(5);
  refer(0, {1, 2});
  refer(1, {3});
  refer(2, {3});
  refer(3, {4});
  EXPECT_THAT(others(4), ElementsAre(2u));
  EXPECT_EQ(shared().object, 3u);
  EXPECT_EQ(shared().above, OtherWays::kNone);
}

TEST_F(OtherWaysTest, OneWayIsNoOther) {
  objects_.add_many(4);
  refer(0, {1});
  refer(1, {2, 2});
  refer(2, {3});
  EXPECT_THAT(others(3), IsEmpty());
}

// A record knows the list that has it, and its neighbours in the list.
TEST_F(OtherWaysTest, WhatTheContainerKeepsIsNoOther) {
  objects_.add_many(5);
  refer(0, {1});
  refer(1, {2, 3, 4});
  refer(2, {1, 3});
  refer(3, {1, 2, 4});
  refer(4, {3});
  EXPECT_THAT(others(3), IsEmpty());
}

// What only a record keeps may refer to it.
TEST_F(OtherWaysTest, WhatTheObjectKeepsIsNoOther) {
  objects_.add_many(5);
  refer(0, {1, 2});
  refer(1, {3});
  refer(2, {3});
  refer(3, {4});
  refer(4, {3});
  EXPECT_THAT(others(3), ElementsAre(2u));
}

// Three lists of an object (1), and one elsewhere (5): that one parts earlier, and comes first.
TEST_F(OtherWaysTest, OneOfEachWayComesFirstThenTheOthers) {
  objects_.add_many(8);
  refer(0, {1, 6});
  refer(1, {2, 3, 4});
  refer(6, {5});
  for (const uint32_t list : {2u, 3u, 4u, 5u}) refer(list, {7});
  EXPECT_THAT(others(7), ElementsAre(5u, 3u, 4u));
}

TEST_F(OtherWaysTest, OfManyTheNearestAreListed) {
  constexpr uint32_t kLists = 50, kRecord = kLists + 1;
  objects_.add_many(kRecord + 1);
  for (uint32_t list = 1; list <= kLists; ++list) {
    refer(0, {list});
    refer(list, {kRecord});
  }
  EXPECT_THAT(others(kRecord), ElementsAre(2u, 3u, 4u, 5u, 6u, 7u));
}

// A group (3) is in two lists, and its record (6) in two lists of the group.
TEST_F(OtherWaysTest, TheNextSharedObjectIsBeyondWhereTheWaysMeet) {
  objects_.add_many(7);
  refer(0, {1, 2});
  refer(1, {3});
  refer(2, {3});
  refer(3, {4, 5});
  refer(4, {6});
  refer(5, {6});
  EXPECT_THAT(others(6), ElementsAre(5u));
  ASSERT_NE(shared().above, OtherWays::kNone);
  EXPECT_EQ(ways_->all()[shared().above].object, 3u);
}

// The only chain to 4 leads through the record itself (2), though 4 would stay without it.
TEST_F(OtherWaysTest, AChainThroughTheObjectIsNoNameOfAnother) {
  objects_.add_many(8);
  refer(0, {1, 5});
  refer(1, {2});
  refer(2, {4});
  refer(5, {6});
  refer(6, {7});
  refer(7, {4});
  refer(4, {2});
  EXPECT_THAT(others(2), IsEmpty());
}

}  // namespace
}  // namespace tensorscope::python::heap_inspector
