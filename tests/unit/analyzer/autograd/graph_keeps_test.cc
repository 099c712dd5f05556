// SPDX-License-Identifier: Apache-2.0
#include "autograd/graph_keeps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "graph_fixture.h"

namespace tensorscope::analyzer {
namespace {

using testing::HandGraph;

// Tensors and storages by hand. Storage i is of 10^i bytes.
struct World {
  HandGraph hand;
  Dump dump;
  std::map<uint32_t, std::vector<uint32_t>> of_storage;

  uint32_t storage() {
    Storage storage;
    storage.own_nbytes = storage.nbytes = 1;
    for (size_t i = 0; i < dump.storages.size(); ++i) storage.nbytes = storage.own_nbytes *= 10;
    dump.storages.push_back(storage);
    return uint32_t(dump.storages.size() - 1);
  }
  uint32_t tensor(uint32_t storage, uint64_t grad_fn = 0) {
    const uint32_t id = uint32_t(dump.tensors.size());
    Tensor tensor;
    tensor.serial = id + 1;
    tensor.address = 0x1000 + id;
    tensor.storage = storage;
    tensor.grad_fn = grad_fn;
    if (storage != kNone) of_storage[storage].push_back(id);
    dump.tensors.push_back(tensor);
    return id;
  }
  void python(uint32_t tensor, format::ReferenceRoot root = format::ReferenceRoot::global, uint32_t node = kNoNode) {
    Reference row;
    row.tensor = tensor;
    row.root = uint8_t(root);
    row.node = node;
    dump.references.rows.push_back(row);  // by tensor: tests name them in order
  }
  Kept keeps(std::vector<uint32_t> roots, int times = 1) {
    dump.graph = hand.graph();
    for (const auto& [storage, tensors] : of_storage) dump.storages[storage].tensors = tensors;
    References& references = dump.references;
    references.present = references.complete = true;
    references.tensors.resize(dump.tensors.size());
    references.first.assign(dump.tensors.size() + 1, 0);
    for (const Reference& row : references.rows) ++references.first[row.tensor + 1];
    for (size_t i = 1; i < references.first.size(); ++i) references.first[i] += references.first[i - 1];
    const GraphWalk walk(dump.graph);
    const GraphTensors tensors(dump);
    GraphKeeps graph(dump, walk, tensors);
    Kept kept;
    while (times-- > 0) kept = graph.below(roots);
    return kept;
  }
};

// loss <- mse(saves out) <- relu(saves out's alias and h) <- mm(saves x and w) <- w
struct Training : World {
  uint32_t w, x, h, out, loss, mm, relu, mse, leaf;
  Training() {
    const uint32_t sw = storage(), sx = storage(), sh = storage(), so = storage(), sl = storage();
    w = tensor(sw), x = tensor(sx);
    leaf = hand.leaf(w);
    mm = hand.node("MmBackward0", {kNoNode, leaf});
    hand.save(mm, x), hand.save(mm, w);
    h = tensor(sh, hand.address(mm));
    relu = hand.node("ReluBackward0", {mm});
    out = tensor(so, hand.address(relu));
    hand.save(relu, h), hand.save(relu, tensor(so));  // an alias of the output
    mse = hand.node("MseLossBackward0", {relu});
    hand.save(mse, out);
    loss = tensor(sl, hand.address(mse));
    python(w);
  }
};

TEST(GraphKeeps, WhatNothingElseHoldsGoesWithTheGraph) {
  Training t;
  t.python(t.loss);
  const Kept kept = t.keeps({t.mse});
  EXPECT_EQ(kept.nodes, 4u);
  EXPECT_EQ(kept.freed_nodes, 4u);
  EXPECT_EQ(kept.bytes, 1111u);
  EXPECT_EQ(kept.only_bytes, 1110u);  // the weight stays
  ASSERT_EQ(kept.storages.size(), 4u);
  EXPECT_EQ(kept.storages[0].bytes, 1000u);
  EXPECT_EQ(kept.storages[0].node, t.relu);  // the earlier of the two that hold the storage
  EXPECT_EQ(kept.storages[0].slots, 2u);
  EXPECT_TRUE(kept.storages[0].only);
  EXPECT_FALSE(kept.storages[3].only);
  EXPECT_EQ(kept.storages[3].slots, 2u);  // mm's and the accumulator's
  EXPECT_EQ(kept.storages[3].node, t.leaf);
  EXPECT_EQ(kept.held_slots, 5u);  // the leaf is in none
  EXPECT_EQ(kept.leaves, 1u);
}

TEST(GraphKeeps, AskingTwiceIsTheSame) {
  Training t;
  EXPECT_EQ(t.keeps({t.mse}, 3).only_bytes, 1110u);
}

TEST(GraphKeeps, AVariableHoldsItsTensorAndWhatIsBelow) {
  Training t;
  t.python(t.out);
  const Kept kept = t.keeps({t.mse});
  EXPECT_EQ(kept.bytes, 1111u);
  EXPECT_EQ(kept.only_bytes, 0u);   // out, its node and so everything below
  EXPECT_EQ(kept.freed_nodes, 1u);  // mse
}

// mm lives on with what it saved. h goes although it came out of mm: its node does not hold it.
TEST(GraphKeeps, AnotherGraphHoldsTheTrunk) {
  Training t;
  t.hand.node("SumBackward0", {t.mm});
  const Kept kept = t.keeps({t.mse});
  EXPECT_EQ(kept.freed_nodes, 2u);
  EXPECT_EQ(kept.only_bytes, 1100u);
}

TEST(GraphKeeps, APythonVariableOfANodeHoldsIt) {
  Training t;
  t.dump.references.nodes.push_back({t.relu, 0, "fn", "train.py", {}, {}});
  EXPECT_EQ(t.keeps({t.mse}).freed_nodes, 1u);
}

TEST(GraphKeeps, NamesAreNoHolders) {
  Training t;
  t.python(t.out, format::ReferenceRoot::output);
  t.python(t.out, format::ReferenceRoot::user);
  EXPECT_EQ(t.keeps({t.mse}).only_bytes, 1110u);
}

TEST(GraphKeeps, WhatCtxHoldsGoesWithItsNode) {
  Training t;
  const uint32_t storage = t.storage(), kept_by_ctx = t.tensor(storage);  // 100,000 bytes
  t.python(kept_by_ctx, format::ReferenceRoot::node, t.relu);
  t.hand.save(t.mm, kept_by_ctx);
  EXPECT_EQ(t.keeps({t.mse}).only_bytes, 101'110u);
}

TEST(GraphKeeps, AGradientIsHeldByItsLeaf) {
  Training t;
  const uint32_t storage = t.storage(), grad = t.tensor(storage);
  t.dump.tensors[t.w].grad = t.dump.tensors[grad].address;
  t.hand.save(t.mse, grad);
  EXPECT_EQ(t.keeps({t.mse}).only_bytes, 1110u);
}

TEST(GraphKeeps, ABaseThatOnlyItsViewsHoldGoesWithThem) {
  Training t;
  const uint32_t storage = t.storage(), base = t.tensor(storage), view = t.tensor(storage);
  t.dump.tensors[view].flags = uint32_t(format::TensorFlag::view);
  t.hand.save(t.mse, view);
  EXPECT_EQ(t.keeps({t.mse}).only_bytes, 101'110u);
  (void)base;
}

TEST(GraphKeeps, WhatNothingKnownHoldsStays) {
  Training t;
  t.tensor(t.dump.tensors[t.x].storage);  // an alias that C++ holds
  EXPECT_EQ(t.keeps({t.mse}).only_bytes, 1100u);
}

TEST(GraphKeeps, ATensorWithoutStorageIsCounted) {
  Training t;
  t.hand.save(t.mse, t.tensor(kNone));
  t.hand.save(t.mse, kNone, format::SlotState::packed);
  t.hand.save(t.mse, kNone, format::SlotState::empty);
  const Kept kept = t.keeps({t.mse});
  EXPECT_EQ(kept.without_storage, 1u);
  EXPECT_EQ(kept.packed_slots, 1u);
  EXPECT_EQ(kept.empty_slots, 1u);
}

TEST(GraphKeeps, ANodeInsideAnotherGoesWithIt) {
  World world;
  const uint32_t copy = world.hand.node("CopySlices");
  const uint32_t inner = world.hand.inner("MulBackward0");
  const uint32_t storage = world.storage();
  world.hand.save(inner, world.tensor(storage));
  const Kept kept = world.keeps({copy});
  EXPECT_EQ(kept.nodes, 2u);
  EXPECT_EQ(kept.only_bytes, 1u);
}

TEST(GraphKeeps, CyclesEnd) {
  World world;
  const uint32_t a = world.hand.node("A"), b = world.hand.node("B", {a});
  world.hand.edge(a, b);
  const uint32_t storage = world.storage();
  world.hand.save(a, world.tensor(storage));
  const Kept kept = world.keeps({b});
  EXPECT_EQ(kept.nodes, 2u);
  EXPECT_EQ(kept.only_bytes, 1u);
}

TEST(GraphKeeps, AChainOfAHundredThousandOperations) {
  World world;
  const uint32_t storage = world.storage();
  uint32_t node = world.hand.leaf();
  for (int i = 0; i < 100'000; ++i) {
    node = world.hand.node("SinBackward0", {node});
    world.hand.save(node, world.tensor(i == 0 ? storage : kNone));
  }
  const Kept kept = world.keeps({node});
  EXPECT_EQ(kept.freed_nodes, 100'001u);
  EXPECT_EQ(kept.only_bytes, 1u);
}

}  // namespace
}  // namespace tensorscope::analyzer
