#include "python/agent/object_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_objects.h"

namespace tensorscope::python::agent {
namespace {

using ::testing::ElementsAre;
using testing::FakeObjects;
using testing::kNever;
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
  ObjectGraph with(objects.gil_, kNever);
  EXPECT_TRUE(objects.read(with, detail, {objects.object(alone)}));
  EXPECT_EQ(with.find(objects.object(alone)), 2u);
}

TEST(ObjectGraph, SaysThatTheTimeWasUp) {
  FakeObjects objects;
  objects.add_many(3);
  const Gil gil = objects.gil();
  ObjectGraph graph(gil, Deadline{0});
  const char* detail = "";
  EXPECT_FALSE(objects.read(graph, detail));
  EXPECT_STREQ(detail, "the time was up before all objects were looked at");
  EXPECT_EQ(graph.size(), 3u);
  EXPECT_FALSE(graph.complete());
  EXPECT_THAT(references(graph, 2), ElementsAre());
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
}  // namespace tensorscope::python::agent
