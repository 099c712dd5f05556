// SPDX-License-Identifier: Apache-2.0
#include "memory/selection.h"

#include <gtest/gtest.h>

#include "unit/analyzer/questions_fixture.h"

namespace tensorscope::analyzer {
namespace {

using testing::Asked;
using testing::DumpBuilder;
using testing::owned;
using testing::TensorSpec;

TEST(Selection, Names) {
  EXPECT_TRUE(name_matches("forward", "Net.forward"));
  EXPECT_FALSE(name_matches("backward", "Net.forward"));
  EXPECT_TRUE(name_matches("model.layers.*", "model.layers.3.attn"));
  EXPECT_FALSE(name_matches("layers.*", "model.layers.3"));
}

TEST(Selection, Paths) {
  EXPECT_TRUE(path_matches("train.py", "/home/user/train.py"));
  EXPECT_FALSE(path_matches("rain.py", "/home/user/train.py"));
  EXPECT_TRUE(path_matches("user/train.py", "/home/user/train.py"));
  EXPECT_TRUE(path_matches("*.py", "/home/user/train.py"));
  EXPECT_FALSE(path_matches("*.cc", "/home/user/train.py"));
}

bool matches(const std::string& pattern, const std::vector<int64_t>& sizes) { return shape_matches(pattern, sizes); }

TEST(Selection, Shapes) {
  EXPECT_TRUE(matches("64,1024", {64, 1024}));
  EXPECT_TRUE(matches("[64, 1024]", {64, 1024}));
  EXPECT_TRUE(matches("(64,)", {64}));
  EXPECT_TRUE(matches("64x*", {64, 7}));
  EXPECT_FALSE(matches("64,*", {64}));
  EXPECT_FALSE(matches("64,*", {64, 7, 1}));
  EXPECT_TRUE(matches("...,3", {1, 2, 3}));
  EXPECT_TRUE(matches("1,...", {1}));
  EXPECT_FALSE(matches("...,3", {3, 1}));
  EXPECT_TRUE(matches("[]", {}));
  EXPECT_FALSE(matches("[]", {1}));
}

class SelectionOfSample : public ::testing::Test {
 protected:
  SelectionOfSample() {
    builder_.thread(10, "main");
    builder_.thread(11, "pt_autograd_0");
    builder_.module_name(0x77, "model.attn", "Attention");
    train_ = builder_.site(0, builder_.python({{"/x/train.py", "<module>", 1}, {"/x/train.py", "step", 57}}));
    model_ = builder_.site(0, builder_.python({{"/x/train.py", "<module>", 2},
                                               {"/t/torch/nn/modules/module.py", "_wrapped_call_impl", 3, false, 0x77},
                                               {"/x/model.py", "Attention.forward", 88}}));
    owned(builder_, 100, train_);
    owned(builder_, 1000, model_);
    TensorSpec other;  // without memory, of another dtype, by another thread
    other.sizes = {4, 5};
    other.storage_base = 0;
    other.site = train_;
    other.dtype = 4;
    other.thread = 2;
    other.created_ns = builder_.dump_ns - 10'000'000'000;
    builder_.tensor(other);
  }

  uint64_t tensors(Filter filter) { return Asked(builder_, std::move(filter)).selection.tensor_count(); }
  uint64_t bytes(Filter filter) {
    Asked asked(builder_, std::move(filter));
    return asked.selection.bytes();
  }

  DumpBuilder builder_;
  uint32_t train_, model_;
};

TEST_F(SelectionOfSample, EachFilter) {
  EXPECT_EQ(tensors({}), 3u);
  EXPECT_EQ(bytes({}), 4400u);
  EXPECT_EQ(tensors({.dtypes = {"int64"}}), 1u);
  EXPECT_EQ(tensors({.dtypes = {"torch.float32"}}), 2u);
  EXPECT_EQ(tensors({.dtypes = {"int64", "float32"}}), 3u);
  EXPECT_EQ(tensors({.devices = {"cuda"}}), 0u);
  EXPECT_EQ(tensors({.devices = {"cpu"}}), 3u);
  EXPECT_EQ(tensors({.shapes = {"4,*"}}), 1u);
  EXPECT_EQ(tensors({.threads = {"pt_autograd"}}), 1u);
  EXPECT_EQ(tensors({.threads = {"11"}}), 1u);
  EXPECT_EQ(tensors({.classes = {"TensorImpl"}}), 3u);
  EXPECT_EQ(tensors({.modules = {"model.*"}}), 1u);
  EXPECT_EQ(tensors({.functions = {"forward"}}), 1u);
  EXPECT_EQ(tensors({.lines = {"train.py"}}), 2u);
  EXPECT_EQ(tensors({.lines = {"train.py:57"}}), 2u);
  EXPECT_EQ(tensors({.lines = {"train.py:58"}}), 0u);
  EXPECT_EQ(tensors({.stacks = {"train\\.py:2 "}}), 1u);
  EXPECT_EQ(bytes({.min_size = 1000}), 4000u);
  EXPECT_EQ(bytes({.max_size = 1000}), 400u);
  EXPECT_EQ(tensors({.max_age_ns = 20'000'000'000}), 1u);
  EXPECT_EQ(tensors({.min_age_ns = 20'000'000'000}), 2u);
  EXPECT_EQ(tensors({.categories = {"unknown"}}), 3u);
}

TEST_F(SelectionOfSample, DifferentFiltersMustAllPass) {
  EXPECT_EQ(tensors({.dtypes = {"float32"}, .lines = {"train.py"}}), 1u);
  EXPECT_EQ(tensors({.dtypes = {"int64"}, .functions = {"forward"}}), 0u);
}

TEST_F(SelectionOfSample, WhatMeansNothingIsSaid) {
  EXPECT_THROW(tensors({.stacks = {"("}}), BadFilter);
  EXPECT_THROW(tensors({.categories = {"weights"}}), BadFilter);
}

// A storage counts if one of its tensors is chosen, whichever speaks for it.
TEST(Selection, MemoryIsSelectedWithAnyOfItsTensors) {
  DumpBuilder builder;
  const uint32_t site = builder.site(0, builder.python({{"/x/train.py", "step", 57}}));
  TensorSpec whole = owned(builder, 64, site, 10);
  TensorSpec alias = whole;
  alias.serial = 20;
  alias.sizes = {8, 8};
  builder.tensor(alias);
  builder.reference(
      {10, "model.weight", "train.py", "", format::ReferenceRoot::global, format::ReferenceRole::parameter});
  builder.reference({20, "kept", "train.py"});
  for (uint64_t tensor : {10, 20}) builder.tensor_object({tensor});
  for (const Filter& filter : {Filter{.names = {"kept"}}, Filter{.shapes = {"8,8"}}, Filter{.holders = {"kept"}}}) {
    Asked asked(builder, filter);
    EXPECT_EQ(asked.selection.tensor_count(), 1u);
    EXPECT_EQ(asked.selection.bytes(), 256u);
    const std::vector<Group> groups = group(asked.view(), GroupBy::shape);
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_EQ(groups[0].label, "[8, 8]");
    EXPECT_EQ(groups[0].bytes, 256u);
  }
}

TEST(Selection, ABlockInNoTensorHasNoDtype) {
  DumpBuilder builder;
  testing::AllocationSpec block;
  block.pointer = 0x1000;
  block.nbytes = 64;
  builder.allocation(block);
  Asked all(builder), typed(builder, {.dtypes = {"float32"}});
  EXPECT_EQ(all.selection.bytes(), 64u);
  EXPECT_EQ(typed.selection.bytes(), 0u);
}

}  // namespace
}  // namespace tensorscope::analyzer
