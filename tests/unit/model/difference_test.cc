#include "model/difference.h"

#include <gtest/gtest.h>

#include <memory>

#include "questions_fixture.h"

namespace tensorscope::model {
namespace {

using testing::Asked;
using testing::DumpBuilder;
using testing::owned;
using testing::TensorSpec;

struct Program {
  DumpBuilder builder;
  uint32_t leak = builder.site(0, builder.python({{"/x/train.py", "step", 57}}));
  uint32_t noise = builder.site(0, builder.python({{"/x/data.py", "load", 5}}));
  uint32_t still = builder.site(0, builder.python({{"/x/model.py", "build", 1}}));
};

const Change* find(const Difference& difference, const std::string& label) {
  for (const Change& change : difference.changes) {
    if (change.label == label) return &change;
  }
  return nullptr;
}

TEST(Difference, WithinARunBySerial) {
  Program before, after;
  owned(before.builder, 10, before.still, 100);
  owned(after.builder, 10, after.still, 100);
  owned(before.builder, 20, before.noise, 200);  // gone
  owned(after.builder, 30, after.leak, 300);     // new
  TensorSpec resized;
  resized.serial = 400;
  resized.sizes = {5};
  resized.storage_base = 0x5000;
  before.builder.tensor(resized);
  resized.sizes = {50};
  after.builder.tensor(resized);
  TensorSpec moved;
  moved.serial = 500;
  moved.sizes = {7};
  moved.storage_base = 0x6000;
  before.builder.tensor(moved);
  moved.storage_base = 0x7000;
  after.builder.tensor(moved);
  Asked first(before.builder), second(after.builder);
  Difference difference = model::difference({first.view(), second.view()}, By::line);

  EXPECT_TRUE(difference.same_run);
  EXPECT_EQ(difference.movement.fresh.tensors, 1u);
  EXPECT_EQ(difference.movement.gone.tensors, 1u);
  EXPECT_EQ(difference.movement.grown.tensors, 1u);
  EXPECT_EQ(difference.movement.grown.bytes, 180u);
  EXPECT_EQ(difference.movement.shrunk.tensors, 0u);
  EXPECT_EQ(difference.movement.moved.tensors, 1u);
  EXPECT_EQ(find(difference, "/x/model.py:1 build"), nullptr) << "what did not change is not listed";
  ASSERT_NE(find(difference, "/x/train.py:57 step"), nullptr);
  EXPECT_EQ(find(difference, "/x/train.py:57 step")->byte_growth(), 120);
  EXPECT_EQ(find(difference, "/x/data.py:5 load")->byte_growth(), -80);
}

TEST(Difference, ASameAddressWithAnotherSerialIsAnotherTensor) {
  Program before, after;
  TensorSpec tensor;
  tensor.sizes = {5};
  tensor.address = 0x1234;
  tensor.serial = 1;
  before.builder.tensor(tensor);
  tensor.serial = 2;
  after.builder.tensor(tensor);
  Asked first(before.builder), second(after.builder);
  Difference difference = model::difference({first.view(), second.view()}, By::line);
  EXPECT_EQ(difference.movement.fresh.tensors, 1u);
  EXPECT_EQ(difference.movement.gone.tensors, 1u);
}

TEST(Difference, BetweenRunsByStackShapeAndDtype) {
  Program before, after;
  after.builder.run_id = "another";
  for (int i = 0; i < 3; ++i) owned(before.builder, 10, before.leak, uint64_t(100 + 10 * i));
  for (int i = 0; i < 5; ++i) owned(after.builder, 10, after.leak, uint64_t(1000 + 10 * i));
  owned(before.builder, 20, before.still, 500);
  owned(after.builder, 40, after.still, 600);  // the same place, another shape
  Asked first(before.builder), second(after.builder);
  Difference difference = model::difference({first.view(), second.view()}, By::line);
  EXPECT_FALSE(difference.same_run);
  EXPECT_EQ(difference.movement.fresh.tensors, 3u);
  EXPECT_EQ(difference.movement.fresh.bytes, 80u + 160);
  EXPECT_EQ(difference.movement.gone.tensors, 1u);
  EXPECT_EQ(difference.movement.gone.bytes, 80u);
}

TEST(Difference, SteadyGrowthComesBeforeNoise) {
  std::vector<std::unique_ptr<Asked>> dumps;
  std::vector<View> views;
  for (int i = 0; i < 4; ++i) {
    Program run;
    for (int j = 0; j < 8 * i; ++j) owned(run.builder, 10, run.leak, uint64_t(1000 + 10 * j));
    owned(run.builder, i == 2 ? 9000 : 5000 + i, run.noise, 50);  // far more bytes, up and down
    dumps.push_back(std::make_unique<Asked>(run.builder));
    views.push_back(dumps.back()->view());
  }
  Difference difference = model::difference(views, By::line);
  ASSERT_EQ(difference.changes.size(), 2u);
  EXPECT_EQ(difference.changes[0].label, "/x/train.py:57 step");
  EXPECT_TRUE(difference.changes[0].steady);
  EXPECT_FALSE(difference.changes[1].steady);
  EXPECT_EQ(difference.changes[0].tensors, (std::vector<uint64_t>{0, 8, 16, 24}));
}

TEST(Difference, AWarmUpIsNotSteady) {
  std::vector<std::unique_ptr<Asked>> dumps;
  std::vector<View> views;
  for (int64_t floats : {10, 1000, 1001}) {
    Program run;
    owned(run.builder, floats, run.leak, 10);
    dumps.push_back(std::make_unique<Asked>(run.builder));
    views.push_back(dumps.back()->view());
  }
  Difference difference = model::difference(views, By::line);
  ASSERT_EQ(difference.changes.size(), 1u);
  EXPECT_FALSE(difference.changes[0].steady);
}

}  // namespace
}  // namespace tensorscope::model
