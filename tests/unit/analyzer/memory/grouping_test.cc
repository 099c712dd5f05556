// SPDX-License-Identifier: Apache-2.0
#include "memory/grouping.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/analyzer/questions_fixture.h"

namespace tensorscope::analyzer {
namespace {

using testing::Asked;
using testing::DumpBuilder;
using testing::owned;
using testing::PythonFrameSpec;
using testing::TensorSpec;

const Group* find(const std::vector<Group>& groups, const std::string& label) {
  auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.label == label; });
  return found == groups.end() ? nullptr : &*found;
}

class GroupingTest : public ::testing::Test {
 protected:
  GroupingTest() {
    builder_.working_directory = "/x";
    PythonFrameSpec main{"/x/train.py", "main", 10};
    a_ = builder_.site(0, builder_.python({main, {"/x/train.py", "step", 57}}));
    // The same line by another caller, and the same line a few native frames further in.
    b_ = builder_.site(0, builder_.python({{"/x/train.py", "main", 11}, {"/x/train.py", "step", 57}}));
    inner_ = builder_.site(builder_.native({0x10}), builder_.python({main, {"/x/train.py", "step", 57}}));
    c_ = builder_.site(0, builder_.python({main, {"/x/model.py", "forward", 3}}));
    owned(builder_, 100, a_);
    owned(builder_, 200, b_);
    owned(builder_, 400, c_);
    // Its block was made at `inner_`, its tensor at `a_`; a view of it at `c_`.
    testing::AllocationSpec block;
    block.pointer = 0x9000000;
    block.nbytes = 3200;
    block.site = inner_;
    builder_.allocation(block);
    TensorSpec tensor;
    tensor.sizes = {800};
    tensor.storage_base = block.pointer;
    tensor.site = a_;
    builder_.tensor(tensor);
    tensor.site = c_;
    tensor.dtype = 7;
    builder_.tensor(tensor);
    block.pointer = 0xa000000;
    block.nbytes = 64;
    block.site = c_;
    builder_.allocation(block);
  }
  DumpBuilder builder_;
  uint32_t a_, b_, inner_, c_;
};

// An autograd worker has no Python of its own: its memory is told by the operation it is the gradient of.
TEST_F(GroupingTest, MemoryOfAnAutogradWorkerKnowsItsForwardLine) {
  const uint32_t worker = builder_.site(builder_.native({0x20}), 0);
  const uint64_t node = builder_.node(0x7000, "AddBackward0", c_);
  testing::AllocationSpec block;
  block.pointer = 0xb000000;
  block.nbytes = 512;
  block.site = worker;
  block.node = node;
  builder_.allocation(block);
  block.pointer = 0xb001000;
  block.node = 0;
  builder_.allocation(block);
  block.pointer = 0xb002000;
  block.node = node;
  block.site = c_;  // with Python frames: the place says it all
  builder_.allocation(block);
  Asked asked(builder_);
  for (const Group& found : group(asked.view(), GroupBy::site)) {
    if (found.site == worker) {
      EXPECT_EQ(found.forward_bytes, (std::map<uint32_t, uint64_t>{{c_, 512}}));
    } else {
      EXPECT_TRUE(found.forward_bytes.empty()) << found.label;
    }
  }
}

TEST_F(GroupingTest, SumsEqualTheTotalsWhateverTheGroups) {
  Asked asked(builder_);
  for (size_t by = 0; by < std::size(kByNames); ++by) {
    uint64_t bytes = 0, tensors = 0;
    for (const Group& group : group(asked.view(), GroupBy(by))) {
      bytes += group.bytes;
      tensors += group.tensors;
    }
    EXPECT_EQ(bytes, asked.accounts.total_bytes()) << kByNames[by];
    EXPECT_EQ(tensors, asked.dump.tensors.size()) << kByNames[by];
  }
}

TEST_F(GroupingTest, ByLineJoinsCallersAndByTheStackTellsThemApart) {
  Asked asked(builder_);
  std::vector<Group> lines = group(asked.view(), GroupBy::line);
  ASSERT_EQ(lines.size(), 2u);
  const Group* step = find(lines, "train.py:57 step");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->bytes, 400u + 800 + 3200);
  EXPECT_EQ(step->tensors, 3u);
  EXPECT_EQ(group(asked.view(), GroupBy::site).size(), 4u);
}

TEST_F(GroupingTest, AViewMadeElsewhereIsCountedThereWithoutBytes) {
  Asked asked(builder_);
  std::vector<Group> lines = group(asked.view(), GroupBy::line);
  const Group* forward = find(lines, "model.py:3 forward");
  ASSERT_NE(forward, nullptr);
  EXPECT_EQ(forward->tensors, 2u);
  EXPECT_EQ(forward->storages, 1u);
  EXPECT_EQ(forward->blocks, 1u);
  EXPECT_EQ(forward->bytes, 1600u + 64);
}

TEST_F(GroupingTest, ATensorCountsWhereItsMemoryWasMadeIfThatIsTheSamePlace) {
  Asked asked(builder_);
  std::vector<Group> sites = group(asked.view(), GroupBy::site);
  auto inner = std::find_if(sites.begin(), sites.end(), [](const Group& g) { return g.bytes == 3200; });
  ASSERT_NE(inner, sites.end());
  EXPECT_EQ(inner->tensors, 1u) << "the tensor, but not the view that was made elsewhere";
}

TEST_F(GroupingTest, ByDtypeABlockIsInNoTensor) {
  Asked asked(builder_);
  std::vector<Group> types = group(asked.view(), GroupBy::dtype);
  ASSERT_NE(find(types, "(in no tensor)"), nullptr);
  EXPECT_EQ(find(types, "(in no tensor)")->bytes, 64u);
  EXPECT_EQ(find(types, "float64")->bytes, 0u);
  EXPECT_EQ(find(types, "float64")->tensors, 1u);
}

TEST(Grouping, EveryPropertyHasItsName) {
  for (size_t i = 0; i < kByNames.size(); ++i) EXPECT_EQ(by_named(text(GroupBy(i))), GroupBy(i));
  EXPECT_STREQ(text(GroupBy(kByNames.size())), "") << "kByNames does not list them all";
}

TEST(Grouping, ModulePathsMerge) {
  EXPECT_EQ(merge_module_paths("", "a.b"), "a.b");
  EXPECT_EQ(merge_module_paths("model.layers.0.attn", "model.layers.3.attn"), "model.layers.*.attn");
  EXPECT_EQ(merge_module_paths("model.layers.*.attn", "model.layers.7.attn"), "model.layers.*.attn");
  EXPECT_EQ(merge_module_paths("model.fc", "model.layers.0.fc"), "model");
  EXPECT_EQ(merge_module_paths("model.layers", "model.layers.2.mlp"), "model.layers");
  EXPECT_EQ(merge_module_paths("model.fc", "other.layers.0.fc"), "...");
  EXPECT_EQ(merge_module_paths("a", "b"), "...");
}

TEST_F(GroupingTest, CallersAreTheUsersOwnCode) {
  uint32_t site = builder_.site(0, builder_.python({{"/x/train.py", "<module>", 99},
                                                    {"/x/train.py", "main", 10},
                                                    {"/x/train.py", "main", 10},
                                                    {"/v/site-packages/torch/nn/modules/module.py", "_call_impl", 5},
                                                    {"/x/model.py", "forward", 3}}));
  Asked asked(builder_);
  EXPECT_EQ(asked.places.callers(site), "train.py:10 main");
  EXPECT_EQ(asked.places.callers(a_), "train.py:10 main");
  EXPECT_EQ(asked.places.callers(0), "");
}

TEST(Places, FunctionsAreBrief) {
  EXPECT_EQ(brief_function("at::empty"), "at::empty");
  EXPECT_EQ(brief_function("std::vector<int>::push_back"), "std::vector<int>::push_back");
  EXPECT_EQ(brief_function("wrap<at::Tensor (at::Tensor const&, c10::Scalar)>::call"), "wrap<...>::call");
  EXPECT_EQ(brief_function("a::operator<<"), "a::operator<<");
  EXPECT_EQ(brief_function("a<b"), "a<b");
}

TEST(Places, PathsAreShort) {
  EXPECT_EQ(short_path("/x/y/train.py", "/x"), "y/train.py");
  EXPECT_EQ(short_path("/xy/train.py", "/x"), "/xy/train.py");
  EXPECT_EQ(short_path("/x/.venv/lib/python3.11/site-packages/torch/nn/a.py", "/x"), "torch/nn/a.py");
  EXPECT_EQ(short_path("/usr/lib/python3.11/queue.py", "/x"), "python3.11/queue.py");
  EXPECT_EQ(short_path("train.py", "/"), "train.py");
}

}  // namespace
}  // namespace tensorscope::analyzer
