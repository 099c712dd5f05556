// SPDX-License-Identifier: Apache-2.0
#include "oom/holdings.h"

#include <numeric>

#include "built_tables.h"

namespace tensorscope::oom {
namespace {

using format::ReferenceRole;
using format::ReferenceRoot;
using format::WrapperState;

class HoldingsTest : public BuiltTables {
 protected:
  Holdings find(Device device = kCuda0) {
    const DumpTables all = tables();
    const TensorLinks links(all);
    Holdings holdings = find_holdings(all, links, FrameFacts(all.view), device);
    EXPECT_EQ(std::accumulate(holdings.by_category.begin(), holdings.by_category.end(), uint64_t{0}), holdings.bytes);
    uint64_t items = 0;
    for (const Item& item : holdings.items) items += item.bytes;
    EXPECT_EQ(items, holdings.bytes);
    return holdings;
  }
  uint64_t bytes(Category category) { return find().by_category[size_t(category)]; }
};

TEST_F(HoldingsTest, NothingAtAll) { EXPECT_EQ(find().bytes, 0u); }

TEST_F(HoldingsTest, EveryByteOnceAndNoneWithoutAName) {
  block(0x1000, 1024);
  block(0x9000, 512);
  block(0x20000, 4096);
  tensor(0x1000, 1000);
  tensor(0x1000, 1000);  // a view of the same storage
  tensor(0x20000, 1000);
  tensor(0x20100, 1000);  // overlaps the one before
  const Holdings holdings = find();
  EXPECT_EQ(holdings.bytes, 1024u + 512 + 4096);
  EXPECT_EQ(holdings.by_category[size_t(Category::unknown)], 1000u + 1256);
  EXPECT_EQ(holdings.by_category[size_t(Category::workspace)], 512u);
  EXPECT_EQ(holdings.by_category[size_t(kRounding)], 24u + 4096 - 1256);
  EXPECT_EQ(holdings.items_of[size_t(Category::unknown)], 3u);
}

// Where not all tensors were looked at, a block without one is not said to be in none.
TEST_F(HoldingsTest, BlocksOfTensorsThatWereNotLookedAtAreAnItemASite) {
  block(0x1000, 1024);
  block(0x9000, 512, 1);
  block(0xa000, 256, 1);
  block(0x20000, 64, 2);
  tensor(0x1000, 1024);
  view_.tensors.size = 4;
  const Holdings holdings = find();
  EXPECT_EQ(holdings.by_category[size_t(Category::workspace)], 0u);
  EXPECT_EQ(holdings.by_category[size_t(kNotLookedAt)], 512u + 256 + 64);
  EXPECT_EQ(holdings.items_of[size_t(kNotLookedAt)], 3u);
  ASSERT_EQ(holdings.items.size(), 3u);
  EXPECT_EQ(holdings.items[1].bytes, 768u);
  EXPECT_EQ(holdings.items[1].count, 2u);
  EXPECT_STREQ(row_text(kNotLookedAt), "not looked at");
}

TEST_F(HoldingsTest, OtherDevicesAndForeignMemoryAreNotCounted) {
  block(0x1000, 64);
  block(0x1000, 32, 0, {1, 1});
  block(0x5000, 16, 0, {0, -1});
  tensor(0x1000, 64);
  tensor(0x7000, 640);  // in no block
  EXPECT_EQ(find().bytes, 64u);
  EXPECT_EQ(find({1, 1}).bytes, 32u);
  EXPECT_EQ(find({0, 0}).bytes, 16u);  // the CPU has no index
}

TEST_F(HoldingsTest, CategoriesByPython) {
  for (int i = 0; i < 5; ++i) block(0x1000u * (i + 1), 1u << i);
  reference(tensor(0x1000, 1), "model.weight", ReferenceRole::parameter);
  reference(tensor(0x2000, 2), "model.mean", ReferenceRole::buffer);
  reference(tensor(0x3000, 4), "Adam.state[0].exp_avg", ReferenceRole::optimizer_state);
  reference(tensor(0x4000, 8), "ctx.x", ReferenceRole::plain, ReferenceRoot::node);
  object(tensor(0x5000, 16), WrapperState::referenced, true);
  EXPECT_EQ(bytes(Category::parameter), 1u + 16);
  EXPECT_EQ(bytes(Category::buffer), 2u);
  EXPECT_EQ(bytes(Category::optimizer_state), 4u);
  EXPECT_EQ(bytes(Category::saved_activation), 8u);
}

TEST_F(HoldingsTest, CategoriesWithoutPython) {
  references_.complete = false;
  references_.detail = "the GIL did not come";
  for (int i = 0; i < 6; ++i) block(0x1000u * (i + 1), 1u << i);
  const SiteId optimizer = site({"/u/train.py", "/p/site-packages/torch/optim/adam.py"});
  const SiteId module = site({"/u/train.py", "/p/site-packages/torch/nn/modules/linear.py"});
  const SiteId loader = site({"/p/site-packages/torch/utils/data/dataloader.py", "/u/data.py"});
  const Serial gradient = tensor(0x1000, 1);
  tensor(0x2000, 2, kTrained, gradient * 1000);
  tensor(0x3000, 4, kTrained, 0, module);
  tensor(0x4000, 8, 0, 0, optimizer);
  tensor(0x5000, 16, 0, 0, loader);
  tensor(0x6000, 32, kTrained);  // a leaf of the program's own: not known to be trained
  EXPECT_EQ(bytes(Category::gradient), 1u);
  EXPECT_EQ(bytes(Category::parameter), 2u + 4);
  EXPECT_EQ(bytes(Category::optimizer_state), 8u);
  EXPECT_EQ(bytes(Category::input_batch), 16u);
  EXPECT_EQ(bytes(Category::unknown), 32u);
}

TEST_F(HoldingsTest, FilesInAFolderCalledTorchAreTheUsers) {
  references_.complete = false;
  for (int i = 0; i < 3; ++i) block(0x1000u * (i + 1), 1u << i);
  tensor(0x1000, 1, 0, 0, site({"/home/u/train.py", "/home/u/torch/optim/mine.py"}));
  tensor(0x2000, 2, kTrained, 0, site({"/home/u/train.py", "/work/torch/nn/model.py"}));
  tensor(0x3000, 4, 0, 0, site({"/work/torch/utils/data/load.py", "/u/data.py"}));
  EXPECT_EQ(bytes(Category::unknown), 7u);
}

TEST_F(HoldingsTest, SavedActivations) {
  block(0x1000, 1);
  block(0x2000, 2);
  block(0x3000, 4);
  saved(tensor(0x1000, 1));
  saved(tensor(0x2000, 2), uint8_t(format::GraphNodeFlag::accumulates));  // an accumulator's leaf is not saved
  const Serial parameter = tensor(0x3000, 4);
  saved(parameter);
  reference(parameter, "model.weight", ReferenceRole::parameter);
  EXPECT_EQ(bytes(Category::saved_activation), 1u);
  EXPECT_EQ(bytes(Category::unknown), 2u);
  EXPECT_EQ(bytes(Category::parameter), 4u);  // the stronger of the two
}

TEST_F(HoldingsTest, WhatTheProgramHoldsAndWhatCppAloneHolds) {
  call_of_module();
  for (int i = 0; i < 6; ++i) block(0x1000u * (i + 1), 1u << i, 0);
  reference(tensor(0x1000, 1, kTrained), "total", ReferenceRole::plain, ReferenceRoot::global, "train.py");
  reference(tensor(0x2000, 2), "y", ReferenceRole::plain, ReferenceRoot::global, "train.py");
  reference(tensor(0x3000, 4), "Rope.table", ReferenceRole::plain, ReferenceRoot::class_, "rope", "dict");
  reference(tensor(0x4000, 8), "losses[0]", ReferenceRole::plain, ReferenceRoot::global, "train.py", "list");
  tensor(0x5000, 16);
  references_.freed.push(tensor(0x6000, 32));
  node(77);
  blocks_[4].node = 77;
  EXPECT_EQ(bytes(Category::variable), 1u);
  EXPECT_EQ(bytes(Category::unknown), 2u);  // a node computed it: whether it left a module's call the graph tells
  EXPECT_EQ(bytes(Category::cache), 4u);
  EXPECT_EQ(bytes(Category::container), 8u);
  EXPECT_EQ(bytes(Category::backward_temporary), 16u);
  EXPECT_EQ(bytes(Category::temporary), 32u);
}

// Without the names of native functions nobody knows who made it.
TEST_F(HoldingsTest, AnAutogradWorkersMemoryIsNotGuessedAt) {
  sites_.push_back({});
  sites_.back().native = 1;
  block(0x1000, 8, SiteId(sites_.size() - 1));
  tensor(0x1000, 8);
  node(77);
  blocks_[0].node = 77;
  EXPECT_EQ(bytes(Category::unknown), 8u);
}

TEST_F(HoldingsTest, WithoutModulesAResultIsAVariable) {
  block(0x1000, 8);
  reference(tensor(0x1000, 8), "y", ReferenceRole::plain, ReferenceRoot::global, "train.py");
  EXPECT_EQ(bytes(Category::variable), 8u);
}

TEST_F(HoldingsTest, AnAliasOfWhatMayBeAnOutputIsNotCalledAVariable) {
  call_of_module();
  block(0x1000, 8);
  reference(tensor(0x1000, 8), "y", ReferenceRole::plain, ReferenceRoot::global, "train.py");
  reference(tensor(0x1000, 8, kTrained), "detached", ReferenceRole::plain, ReferenceRoot::global, "train.py");
  EXPECT_EQ(bytes(Category::unknown), 8u);
}

// A sparse tensor's values are what the whole is, and only the analyzer knows whose they are.
TEST_F(HoldingsTest, PartsOfASparseTensorAreNotGuessedAt) {
  block(0x1000, 8);
  tensor(0x1000, 8);
  tensor(0, 0);
  tensors_.back().may_have_parts = true;
  node(77);
  blocks_[0].node = 77;
  EXPECT_EQ(bytes(Category::unknown), 8u);
}

TEST_F(HoldingsTest, TheStrongestOfAStorageSpeaksForIt) {
  block(0x1000, 8);
  tensor(0x1000, 8);
  saved(tensor(0x1000, 8));
  reference(tensor(0x1000, 8), "model.weight", ReferenceRole::parameter);
  const Holdings holdings = find();
  EXPECT_EQ(holdings.by_category[size_t(Category::parameter)], 8u);
  ASSERT_EQ(holdings.items.size(), 1u);
  EXPECT_EQ(holdings.items[0].tensor, 2u);
}

TEST_F(HoldingsTest, GarbageIsWhatOnlyCyclesReferTo) {
  block(0x1000, 1);
  block(0x2000, 2);
  block(0x3000, 4);
  object(tensor(0x1000, 1), WrapperState::garbage);
  object(tensor(0x2000, 2), WrapperState::garbage);
  object(tensor(0x2000, 2), WrapperState::referenced);
  object(tensor(0x3000, 4), WrapperState::kept_by_cpp);
  EXPECT_EQ(find().garbage, 1u);
}

TEST_F(HoldingsTest, RowsThatFitNothingAreLeftOut) {
  block(0x1000, 8);
  reference(999, "gone", ReferenceRole::parameter);
  object(999, WrapperState::garbage);
  saved(999);
  tensor(~uint64_t{0} - 4, 64);  // ends beyond the end of memory
  tensor(0x1000, 8, 0, 4242);    // its gradient died meanwhile
  EXPECT_EQ(bytes(Category::unknown), 8u);
}

}  // namespace
}  // namespace tensorscope::oom
