// SPDX-License-Identifier: Apache-2.0
#include "live/node_table.h"

#include "tracker_fixture.h"

namespace tensorscope::live {
namespace {

struct FakeNode {
  const void* vtable;
  char rest[120];
};
int g_mul_class, g_add_class;

using NodeTableTest = RecorderTest;

TEST_F(NodeTableTest, ABackwardAllocationNamesItsNodeAlsoAfterTheNodesDeath) {
  FakeNode mul{&g_mul_class, {}};
  t_fake_stack = {41, 42};
  tensor_constructed(fresh(0));
  const int captures = t_captures;
  gradient_edge_set(fresh(0), &mul);
  EXPECT_EQ(t_captures, captures) << "the stack of the tensor just made is that of the operation";
  t_running_node = &mul;
  t_fake_stack = {43, 0};
  cpu_allocated(fresh(1), 64);
  t_running_node = nullptr;
  node_destroyed(&mul);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  const NodeEntry* dead = node(view, &mul);
  ASSERT_NE(dead, nullptr);
  EXPECT_EQ(dead->alive, 0u);
  EXPECT_EQ(dead->vtable, &g_mul_class);
  EXPECT_EQ(view.sites[dead->site].python, 42u);
  EXPECT_EQ(allocation(view, fresh(1))->node, dead->serial);
  EXPECT_EQ(view.sites[allocation(view, fresh(1))->site].native, 43u);

  cpu_freed(fresh(1));
  SnapshotView after;
  ASSERT_TRUE(after.take());
  EXPECT_EQ(node(after, &mul), nullptr);
  tensor_destroyed(fresh(0));
}

TEST_F(NodeTableTest, ANodeAtTheAddressOfADeadOneOfAnotherClassIsNotTakenForIt) {
  FakeNode object{&g_mul_class, {}};
  gradient_edge_set(fresh(0), &object);
  object.vtable = &g_add_class;  // died untold; AccumulateGrad, say, took the memory
  t_running_node = &object;
  cpu_allocated(fresh(1), 64);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  EXPECT_EQ(allocation(view, fresh(1))->node, 0u);
  cpu_freed(fresh(1));
  node_destroyed(&object);
}

TEST_F(NodeTableTest, AnotherOutputOfANodeLeavesTheNodeAsItIs) {
  node_destroyed(fresh(5));  // this torch reports deaths
  FakeNode split{&g_mul_class, {}};
  t_fake_stack = {51, 0};
  gradient_edge_set(fresh(0), &split);
  SnapshotView first;
  ASSERT_TRUE(first.take());
  t_fake_stack = {52, 0};
  gradient_edge_set(fresh(1), &split);
  SnapshotView second;
  ASSERT_TRUE(second.take());
  EXPECT_EQ(node(second, &split)->serial, node(first, &split)->serial);
  EXPECT_EQ(node(second, &split)->alive, 1u);
  node_destroyed(&split);
  gradient_edge_set(fresh(0), &split);  // the next node at this address
  SnapshotView third;
  ASSERT_TRUE(third.take());
  EXPECT_GT(node(third, &split)->serial, node(first, &split)->serial);
  EXPECT_EQ(third.sites[node(third, &split)->site].native, 52u);
  node_destroyed(&split);
}

TEST_F(NodeTableTest, ANodeThatAllocationsReferToKeepsItsRowWhenItsAddressIsUsedAgain) {
  FakeNode object{&g_mul_class, {}};
  t_fake_stack = {53, 0};
  gradient_edge_set(fresh(0), &object);
  t_running_node = &object;
  cpu_allocated(fresh(1), 64);
  t_running_node = nullptr;
  object.vtable = &g_add_class;  // died untold
  t_fake_stack = {54, 0};
  gradient_edge_set(fresh(0), &object);
  SnapshotView view;
  ASSERT_TRUE(view.take());
  const NodeEntry* made_it = nullptr;
  size_t rows_of_the_address = 0;
  for (const NodeEntry& entry : view.nodes) {
    rows_of_the_address += entry.node == &object;
    if (entry.serial == allocation(view, fresh(1))->node) made_it = &entry;
  }
  EXPECT_EQ(rows_of_the_address, 2u);
  ASSERT_NE(made_it, nullptr);
  EXPECT_EQ(made_it->vtable, &g_mul_class);
  EXPECT_EQ(view.sites[made_it->site].native, 53u);
  cpu_freed(fresh(1));
  node_destroyed(&object);
}

}  // namespace
}  // namespace tensorscope::live
