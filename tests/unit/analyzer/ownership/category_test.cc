// SPDX-License-Identifier: Apache-2.0
#include "ownership/category.h"

#include <gtest/gtest.h>

#include "holders_fixture.h"

namespace tensorscope::analyzer {
namespace {

using CategoryTest = HoldersTest;
using format::TensorFlag;
using testing::Asked;
using testing::DumpBuilder;
using testing::owned;
using testing::SharedObjectSpec;
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
    SharedObjectSpec loaded;
    loaded.path = library;
    loaded.begin = 0x1000;
    loaded.end = 0x2000;
    builder.shared_object(loaded);
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

TEST_F(CategoryTest, MemoryIsForOneThing) {
  TensorSpec spec;
  spec.storage_base = 0x900000;
  spec.flags = kTrained;
  const uint64_t weight = tensor(spec);
  spec.flags = uint32_t(TensorFlag::view);
  const uint64_t transposed = tensor(spec);
  const uint32_t mm = node("MmBackward0");
  builder_.saved(mm, {transposed, 0});
  path(weight, "model.fc1.weight");
  read();
  EXPECT_EQ(category(transposed), Category::parameter);
  EXPECT_EQ(evidence(transposed),
            "shares the storage of #" + std::to_string(weight) + " (model.fc1.weight), in model.fc1's parameters");
  EXPECT_EQ(holders().representative(asked_->dump.tensors[index(weight)].storage), index(weight));
}

TEST_F(CategoryTest, CategoriesByWhoMadeAndWhoKeeps) {
  auto made = [&](const std::string& file, const std::string& function) {
    TensorSpec spec;
    spec.site = builder_.site(0, builder_.python({{file, function, 5}}, main_));
    return tensor(spec);
  };
  const uint64_t batch = made(kTorch + "utils/data/_utils/collate.py", "default_collate");
  const uint64_t sent = made(kTorch + "multiprocessing/reductions.py", "rebuild_storage_fd");
  const uint64_t inside = made(kTorch + "nn/functional.py", "normalize");
  const uint64_t cached = made("/x/train.py", "masks"), shared = made("/x/train.py", "f"),
                 mine = made("/x/train.py", "f");
  local(batch, "x", "main");
  local(inside, "denom", "normalize");
  builder_.reference({cached, "lru_cache of masks[8]", "train.py", "functools._lru_cache_wrapper"});
  builder_.reference({shared, "Rope.table", "rope", "dict", ReferenceRoot::class_});
  global(mine, "total");
  const uint64_t listed = made("/x/train.py", "f");
  builder_.reference({listed, "history[2]", "train.py", "list"});
  builder_.reference({listed, "Rope.table", "rope", "dict", ReferenceRoot::class_});
  TensorSpec result;
  result.site = in_fc2_;
  const uint64_t field = tensor(result), element = tensor(result),
                 bucket = made(kTorch + "nn/parallel/distributed.py", "_init");
  builder_.reference({field, "out.logits", "main", "Output", ReferenceRoot::local});
  builder_.reference({element, "outs[3].logits", "main", "Output", ReferenceRoot::local});
  const uint64_t rows = made("/x/train.py", "f"), keys = made("/x/train.py", "f");
  builder_.reference({rows, "data.x", "train.py", "Rows", ReferenceRoot::global, ReferenceRole::plain, 1, UINT32_MAX,
                      format::ReferenceWithin::dataset});
  builder_.reference({keys, "past.layers[0].keys", "main", "Layer", ReferenceRoot::local, ReferenceRole::plain, 3,
                      UINT32_MAX, format::ReferenceWithin::kv_cache});
  for (const uint64_t each : {rows, keys}) builder_.tensor_object({each, "Tensor", 1});
  read();
  EXPECT_EQ(category(batch), Category::input_batch);
  EXPECT_EQ(category(sent), Category::input_batch);
  EXPECT_EQ(category(inside), Category::temporary);
  EXPECT_EQ(category(cached), Category::cache);
  EXPECT_EQ(category(shared), Category::cache);
  EXPECT_EQ(category(mine), Category::variable);
  EXPECT_EQ(evidence(mine), "train.py: total");
  EXPECT_EQ(category(listed), Category::container);
  EXPECT_EQ(evidence(listed), "held by train.py: history[2]");
  EXPECT_EQ(category(field), Category::output);
  EXPECT_EQ(category(element), Category::container);
  EXPECT_EQ(category(bucket), Category::communication_bucket);
  EXPECT_EQ(category(rows), Category::dataset);
  EXPECT_EQ(evidence(rows), "in a torch.utils.data.Dataset, data.x");
  EXPECT_EQ(category(keys), Category::kv_cache);
}

// What a graph was given is no activation, whichever view of it the graph saved.
TEST_F(CategoryTest, WhatAGraphWasGiven) {
  TensorSpec spec;
  spec.flags = uint32_t(TensorFlag::leaf);
  spec.site = in_main_;
  const uint64_t batch = tensor(spec), listed = tensor(spec);
  builder_.reference({listed, "batches[0]", "train.py", "list"});
  spec.storage_base = 0x900000;
  const uint64_t pixels = tensor(spec);
  spec.site = in_fc1_;
  spec.flags |= uint32_t(TensorFlag::view);
  const uint64_t view = tensor(spec);
  local(pixels, "pixels", "main");
  spec = {};
  spec.flags = uint32_t(TensorFlag::leaf);
  spec.site = in_fc1_;
  const uint64_t mask = tensor(spec);
  const uint32_t mm = node("MmBackward0", in_fc1_);
  for (const uint64_t each : {batch, listed, view, mask}) builder_.saved(mm, {each, 0});
  read();
  EXPECT_EQ(category(batch), Category::input_batch);
  EXPECT_EQ(evidence(batch), "no model made it, and MmBackward0.saved[0] saved it");
  EXPECT_EQ(category(listed), Category::container);
  EXPECT_EQ(category(pixels), Category::input_batch);
  EXPECT_EQ(category(mask), Category::saved_activation);
}

TEST_F(CategoryTest, PythonsWordIsBetterThanAGradient) {
  TensorSpec spec;
  spec.flags = kTrained;
  spec.grad = 0x1;
  const uint64_t perturbed = tensor(spec), trained = tensor(spec), unseen = tensor(spec);
  builder_.tensor_object({perturbed, "Tensor", 1});
  builder_.tensor_object({trained, "Tensor", 1, format::WrapperState::referenced, true, false});
  read();
  EXPECT_EQ(category(perturbed), Category::unknown);
  EXPECT_EQ(category(trained), Category::parameter);
  EXPECT_EQ(category(unseen), Category::parameter);
}

}  // namespace
}  // namespace tensorscope::analyzer
