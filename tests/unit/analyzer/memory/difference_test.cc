// SPDX-License-Identifier: Apache-2.0
#include "memory/difference.h"

#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "unit/analyzer/questions_fixture.h"

namespace tensorscope::analyzer {
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
  Difference difference = analyzer::difference({first.view(), second.view()}, GroupBy::line);

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

// first + new - gone + grown - shrunk + joined - left = last, in tensors and in bytes.
void expect_balance(const Difference& difference) {
  const Movement& m = difference.movement;
  EXPECT_EQ(difference.bytes.front() + m.fresh.bytes + m.grown.bytes + m.joined.bytes,
            difference.bytes.back() + m.gone.bytes + m.shrunk.bytes + m.left.bytes);
  EXPECT_EQ(difference.tensors.front() + m.fresh.tensors + m.joined.tensors,
            difference.tensors.back() + m.gone.tensors + m.left.tensors);
  int64_t rows = 0, tensors = 0;
  for (const Change& change : difference.changes) {
    rows += change.byte_growth();
    tensors += change.tensor_growth();
  }
  EXPECT_EQ(rows, int64_t(difference.bytes.back() - difference.bytes.front()));
  EXPECT_EQ(tensors, int64_t(difference.tensors.back() - difference.tensors.front()));
  int64_t listed = 0;
  for (const TensorChange& change : difference.tensor_changes) {
    listed += change.kind == TensorChange::Kind::moved ? 0 : change.bytes;
  }
  EXPECT_EQ(listed, rows) << "every byte that came or went stands at a tensor";
}

TEST(Difference, WhatGrewOrMovedIsNeitherNewNorGone) {
  Program before, after;
  for (uint64_t serial : {100, 110}) owned(before.builder, 10, before.still, serial);
  owned(after.builder, 30, after.still, 110);  // in the same block
  owned(after.builder, 10, after.still, 300);
  for (const auto& [builder, base, floats] :
       {std::tuple{&before.builder, uint64_t{0x5000}, 64}, std::tuple{&after.builder, uint64_t{0x9000}, 64}}) {
    TensorSpec elsewhere;  // .data = of the same size
    elsewhere.serial = 500;
    elsewhere.sizes = {floats};
    elsewhere.storage_base = base;
    builder->tensor(elsewhere);
    TensorSpec resized;  // larger, and elsewhere
    resized.serial = 600;
    resized.sizes = {floats * (base == 0x9000 ? 2 : 1)};
    resized.storage_base = base + 0x100000;
    builder->tensor(resized);
  }
  Asked first(before.builder), second(after.builder);
  const Difference difference = analyzer::difference({first.view(), second.view()}, GroupBy::line);
  const Movement& movement = difference.movement;
  EXPECT_EQ(movement.fresh.tensors, 1u);
  EXPECT_EQ(movement.fresh.bytes, 40u);
  EXPECT_EQ(movement.gone.tensors, 1u);
  EXPECT_EQ(movement.gone.bytes, 40u);
  EXPECT_EQ(movement.grown.tensors, 2u);
  EXPECT_EQ(movement.grown.bytes, 80u + 256);
  EXPECT_EQ(movement.moved.tensors, 1u);
  EXPECT_EQ(movement.moved.bytes, 256u);
  expect_balance(difference);
}

// Two storages over one piece of memory: the bytes go to the other one when the first one's oldest tensor dies.
struct Overlapping {
  explicit Overlapping(bool later) {
    TensorSpec whole;
    whole.sizes = {64};
    whole.storage_base = 0x5000;
    whole.site = program.still;
    if (!later) {
      whole.serial = 10;
      name(program.builder.tensor(whole), "old");
    }
    TensorSpec part;
    part.serial = 20;
    part.sizes = {63};
    part.storage_base = 0x5004;
    part.site = program.still;
    name(program.builder.tensor(part), "part");
    whole.serial = 30;  // another alias of the first
    name(program.builder.tensor(whole), "kept");
  }
  void name(uint64_t tensor, const std::string& text) {
    program.builder.reference({tensor, text, "train.py"});
    program.builder.tensor_object({tensor});
  }
  Program program;
};

TEST(Difference, ATensorThatLivesIsNotGoneBecauseAnotherOneCountsItsBytes) {
  Overlapping before(false), after(true);
  for (const char* name : {"kept", "part"}) {
    const Filter filter{.names = {name}};
    Asked first(before.program.builder, filter), second(after.program.builder, filter);
    const Difference difference = analyzer::difference({first.view(), second.view()}, GroupBy::line);
    EXPECT_EQ(difference.bytes, (std::vector<uint64_t>{difference.bytes[0], difference.bytes[0]})) << name;
    EXPECT_GT(difference.bytes[0], 0u);
    EXPECT_EQ(difference.movement.gone.tensors + difference.movement.gone.bytes, 0u) << name;
    EXPECT_TRUE(difference.changes.empty()) << name;
    expect_balance(difference);
  }
}

TEST(Difference, BytesStayWithTheHolderThatHadThem) {
  Overlapping before(false), after(true);
  Asked first(before.program.builder), second(after.program.builder);
  const Selection followed(second.dump, second.accounts, second.holders, second.places, {}, &first.selection);
  const View view{second.dump, second.accounts, second.holders, second.places, followed};
  const Difference difference = analyzer::difference({first.view(), view}, GroupBy::holder);
  ASSERT_EQ(find(difference, "train.py: part"), nullptr) << "its 252 bytes are counted for the whole, as before";
  expect_balance(difference);
}

TEST(Difference, WhatAFilterNoLongerChoosesIsAlive) {
  Program before, after;
  for (Program* program : {&before, &after}) {
    owned(program->builder, 64, program->still, 100);
    program->builder.reference({100, program == &before ? "alpha" : "beta", "train.py"});
    program->builder.tensor_object({100});
  }
  for (const bool forward : {true, false}) {
    const Filter filter{.names = {forward ? "alpha" : "beta"}};
    Asked first(before.builder, filter), second(after.builder, filter);
    const Difference difference = analyzer::difference({first.view(), second.view()}, GroupBy::line);
    const Amount& expected = forward ? difference.movement.left : difference.movement.joined;
    EXPECT_EQ(expected.tensors, 1u);
    EXPECT_EQ(expected.bytes, 256u);
    EXPECT_EQ(difference.movement.gone.tensors + difference.movement.fresh.tensors, 0u);
    expect_balance(difference);
  }
}

TEST(Difference, AGradientThatCameIsAChangeOfItsTensor) {
  Program before, after;
  for (Program* program : {&before, &after}) {
    TensorSpec weight;
    weight.serial = 7;
    weight.sizes = {4};
    weight.storage_base = 0x5000;
    weight.grad = program == &after ? 0x7f00 : 0;
    program->builder.tensor(weight);
  }
  Asked first(before.builder), second(after.builder);
  const Difference difference = analyzer::difference({first.view(), second.view()}, GroupBy::line);
  ASSERT_EQ(difference.tensor_changes.size(), 1u);
  EXPECT_EQ(difference.tensor_changes[0].kind, TensorChange::Kind::graded);
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
  Difference difference = analyzer::difference({first.view(), second.view()}, GroupBy::line);
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
  Difference difference = analyzer::difference({first.view(), second.view()}, GroupBy::line);
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
  Difference difference = analyzer::difference(views, GroupBy::line);
  ASSERT_EQ(difference.changes.size(), 2u);
  EXPECT_EQ(difference.changes[0].label, "/x/train.py:57 step");
  EXPECT_TRUE(difference.changes[0].steady);
  EXPECT_FALSE(difference.changes[1].steady);
  EXPECT_EQ(difference.changes[0].tensors, (std::vector<uint64_t>{0, 8, 16, 24}));
}

TEST(Difference, AWarmUpIsNotSteady) {
  std::vector<std::unique_ptr<Asked>> dumps;
  std::vector<View> views;
  for (int64_t floats : {10, 1000, 1350}) {
    Program run;
    owned(run.builder, floats, run.leak, 10);
    dumps.push_back(std::make_unique<Asked>(run.builder));
    views.push_back(dumps.back()->view());
  }
  Difference difference = analyzer::difference(views, GroupBy::line);
  ASSERT_EQ(difference.changes.size(), 1u);
  EXPECT_FALSE(difference.changes[0].steady);
}

}  // namespace
}  // namespace tensorscope::analyzer
