#include "model/category.h"

#include <gtest/gtest.h>

#include "questions_fixture.h"

namespace tensorscope::model {
namespace {

using dump::TensorFlag;
using testing::Asked;
using testing::DumpBuilder;
using testing::ModuleSpec;
using testing::owned;
using testing::TensorSpec;

TensorSpec tensor(uint32_t site, uint32_t flags) {
  TensorSpec spec;
  spec.sizes = {4};
  spec.site = site;
  spec.flags = flags;
  return spec;
}

TEST(Category, WhatATensorIsAndWhoMadeIt) {
  constexpr uint32_t kLeaf = uint32_t(TensorFlag::leaf), kTrained = kLeaf | uint32_t(TensorFlag::requires_grad);
  const std::string torch = "/v/site-packages/torch/";
  DumpBuilder builder;
  uint32_t user = builder.site(0, builder.python({{"/x/train.py", "main", 1}}));
  uint32_t layer = builder.site(
      0, builder.python({{"/x/model.py", "Net.__init__", 1}, {torch + "nn/modules/linear.py", "Linear.__init__", 2}}));
  uint32_t adam = builder.site(0, builder.python({{"/x/train.py", "main", 1}, {torch + "optim/adam.py", "step", 2}}));
  uint32_t closure =
      builder.site(0, builder.python({{torch + "optim/lbfgs.py", "step", 2}, {"/x/train.py", "closure", 9}}));
  TensorSpec gradient = tensor(user, kLeaf);
  gradient.address = 0xabc00;
  TensorSpec weight = tensor(user, kTrained);
  weight.grad = 0xabc00;
  builder.tensor(gradient);
  builder.tensor(weight);
  builder.tensor(tensor(layer, kTrained));
  builder.tensor(tensor(user, kTrained));
  builder.tensor(tensor(layer, kLeaf));
  builder.tensor(tensor(adam, kLeaf));
  builder.tensor(tensor(closure, kLeaf));
  Asked asked(builder);
  const std::vector<Category> expected = {Category::gradient, Category::parameter, Category::parameter,
                                          Category::unknown,  Category::unknown,   Category::optimizer_state,
                                          Category::unknown};
  for (uint32_t i = 0; i < expected.size(); i++) EXPECT_EQ(asked.holders.category(i), expected[i]) << i;
}

TEST(Category, AnAliasIsWhatItsStorageIs) {
  DumpBuilder builder;
  TensorSpec weight = tensor(0, uint32_t(TensorFlag::leaf) | uint32_t(TensorFlag::requires_grad));
  weight.grad = 0x1;
  weight.storage_base = 0x1000;
  builder.tensor(weight);
  TensorSpec detached = tensor(0, uint32_t(TensorFlag::leaf));
  detached.storage_base = 0x1000;
  builder.tensor(detached);
  Asked asked(builder);
  EXPECT_EQ(asked.holders.category(1), Category::parameter);
}

// A folder called torch is PyTorch's where its libraries were loaded from it, or where packages are installed.
TEST(Category, FilesInAFolderCalledTorchAreTheUsers) {
  constexpr uint32_t kLeaf = uint32_t(TensorFlag::leaf), kTrained = kLeaf | uint32_t(TensorFlag::requires_grad);
  for (const std::string library : {"/v/lib/python3.11/site-packages/torch/lib/libtorch_python.so",
                                    "/home/u/pytorch/torch/lib/libtorch_python.so", "/usr/lib/libtorch_python.so"}) {
    DumpBuilder builder;
    ModuleSpec loaded;
    loaded.path = library;
    loaded.begin = 0x1000;
    loaded.end = 0x2000;
    builder.module(loaded);
    const auto made_in = [&](const std::string& file, uint32_t flags) {
      builder.tensor(tensor(builder.site(0, builder.python({{"/x/train.py", "main", 1}, {file, "step", 2}})), flags));
    };
    made_in("/home/u/torch/optim/mine.py", kLeaf);
    made_in("/work/torch/nn/model.py", kTrained);
    made_in("/work/torch/utils/data/load.py", kLeaf);
    made_in("/v/lib/python3.11/site-packages/torch/optim/adam.py", kLeaf);
    made_in("/usr/lib/python3/dist-packages/torch/nn/modules/linear.py", kTrained);
    made_in("/home/u/pytorch/torch/optim/adam.py", kLeaf);
    Asked asked(builder);
    const bool built_by_the_user = library.starts_with("/home");
    const std::vector<Category> expected = {
        Category::unknown,   Category::unknown,
        Category::unknown,   Category::optimizer_state,
        Category::parameter, built_by_the_user ? Category::optimizer_state : Category::unknown};
    for (uint32_t i = 0; i < expected.size(); i++) EXPECT_EQ(asked.holders.category(i), expected[i]) << library << i;
  }
}

TEST(Category, Names) {
  for (size_t i = 0; i < kCategories; i++) EXPECT_EQ(category_named(text(Category(i))), Category(i));
  EXPECT_STREQ(text(Category(kCategories)), "") << "kCategories does not count them all";
  EXPECT_EQ(category_named("optimizer-state"), Category::optimizer_state);
  EXPECT_EQ(category_named("optimizer state"), Category::optimizer_state);
  EXPECT_EQ(category_named("weights"), std::nullopt);
}

}  // namespace
}  // namespace tensorscope::model
