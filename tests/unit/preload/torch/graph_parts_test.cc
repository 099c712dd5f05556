// SPDX-License-Identifier: Apache-2.0
// What reading the autograd graph is made of, without a torch: safe reads, the map of addresses, the fields of saved
// tensors, type_info of derived classes.
// Covers: preload/torch/graph/{node_extent,node_layout,saved_slots}.cc
// Covers: preload/torch/metadata/safe_reads.cc
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "support/under_qemu.h"
#include "torch/graph/address_map.h"
#include "torch/graph/graph_walk.h"
#include "torch/graph/node_extent.h"
#include "torch/graph/saved_slots.h"
#include "torch/metadata/safe_reads.h"

namespace torch::autograd {
// A class with torch's own name: its type_info is what the walk goes by.
struct Node {
  virtual ~Node() = default;
};
}  // namespace torch::autograd

namespace {
struct Edge {
  torch::autograd::Node* node;
  uint64_t input;
};
struct Operation : torch::autograd::Node {
  uint64_t sequence = 0;
  Edge* begin = nullptr;
  Edge* end = nullptr;
  Edge* capacity = nullptr;
  void* object = nullptr;
  void lead_to(Edge* edges, size_t count) {
    begin = edges;
    end = capacity = edges + count;
  }
};
struct LargeOperation : Operation {
  char fields[512];  // as large as torch's own: what lies behind a node is not looked at
};
struct Other {
  virtual ~Other() = default;
};
struct Both : Other, Operation {};
}  // namespace

namespace tensorscope::torch {
namespace {

uint64_t at(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

TEST(SafeReads, APieceThatIsNotThereCostsOnlyItself) {
  if (under_qemu()) GTEST_SKIP() << kNoSafeReads;
  const size_t page = size_t(sysconf(_SC_PAGESIZE));
  auto* memory =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  munmap(memory + page, page);
  memset(memory, 7, page);
  SafeReads reads;
  constexpr size_t kPieces = 5000;  // more than one call takes
  for (size_t i = 0; i < kPieces; ++i) {
    const uint64_t address = i % 3 == 1 ? at(memory + page) : i % 3 == 2 ? at(memory + page - 4) : at(memory);
    reads.add(i == 30 ? 0 : address, i == 33 ? 0 : 8);
  }
  ASSERT_TRUE(reads.run());
  for (size_t i = 0; i < kPieces; ++i) {
    const bool there = i % 3 == 0 && i != 30 && i != 33;
    ASSERT_EQ(reads.ok(i), there) << i;
    if (there) {
      ASSERT_EQ(reads.word(i, 0), 0x0707070707070707u) << i;
    }
  }
  munmap(memory, page);
}

TEST(SafeReads, ImpossiblePiecesAreNotRead) {
  if (under_qemu()) GTEST_SKIP() << kNoSafeReads;
  SafeReads reads;
  reads.add(~uint64_t{0} - 3, 8);
  reads.add(at(&reads), size_t{1} << 40);
  reads.add(at("text with more than eight bytes"), 8);
  ASSERT_TRUE(reads.run());
  EXPECT_FALSE(reads.ok(0));
  EXPECT_FALSE(reads.ok(1));
  ASSERT_TRUE(reads.ok(2));
  EXPECT_EQ(memcmp(reads.bytes(2), "text wit", 8), 0);
}

TEST(AddressMap, FindsWhatWasAddedAndNothingElse) {
  AddressMap map;
  EXPECT_EQ(map.find(16), AddressMap::kNone);
  for (uint32_t i = 1; i <= 100'000; ++i) EXPECT_EQ(map.try_add(uint64_t{i} * 16, i), i);
  EXPECT_EQ(map.try_add(16, 7), 1u);
  map.set(32, 9);
  EXPECT_EQ(map.find(32), 9u);
  for (uint32_t i = 3; i <= 100'000; ++i) ASSERT_EQ(map.find(uint64_t{i} * 16), i);
  EXPECT_EQ(map.find(8), AddressMap::kNone);
  EXPECT_EQ(map.find(0), AddressMap::kNone);
}

class SavedTest : public testing::Test {
 protected:
  SavedTest() { layout_.pointer_bytes = 8; }
  void put(size_t offset, uint64_t word) { memcpy(bytes_ + offset, &word, sizeof(word)); }
  // was_default_constructed_, is_inplace_on_view_, saved_original_, is_leaf_, is_output_
  void flags(std::initializer_list<int> values) {
    size_t i = layout_.flags();
    for (int value : values) bytes_[i++] = uint8_t(value);
  }
  bool read() { return read_saved(layout_, bytes_, kUndefined, fields_); }

  static constexpr uint64_t kUndefined = 0x10000, kTensor = 0x20000, kHooks = 0x30000;
  SavedLayout layout_;
  unsigned char bytes_[128] = {};
  SavedFields fields_;
};

TEST_F(SavedTest, HasTheSizesOfTorch) {
  EXPECT_EQ(layout_.size(), 80u);
  EXPECT_EQ((SavedLayout{16, 0}).size(), 104u);
  EXPECT_EQ((SavedLayout{16, 8}).size(), 112u);
}

TEST_F(SavedTest, AnInputIsKeptItself) {
  put(0, kTensor);
  flags({0, 0, 1, 0, 0});
  ASSERT_TRUE(read());
  EXPECT_EQ(fields_.tensor, kTensor);
  EXPECT_FALSE(fields_.output);
}

TEST_F(SavedTest, AnOutputIsAnAlias) {
  put(0, kTensor);
  flags({0, 0, 0, 0, 1});
  ASSERT_TRUE(read());
  EXPECT_TRUE(fields_.output);
}

TEST_F(SavedTest, WhatHooksKeepHasNoTensor) {
  put(0, kUndefined);
  put(layout_.hooks(), kHooks);
  ASSERT_TRUE(read());
  EXPECT_EQ(fields_.tensor, 0u);
  EXPECT_EQ(fields_.hooks, kHooks);
  put(0, kTensor);
  EXPECT_FALSE(read()) << "hooks keep something in the tensor's place";
}

TEST_F(SavedTest, OtherWordsAreNoSavedTensor) {
  EXPECT_FALSE(read()) << "no tensor at all";
  put(0, kTensor);
  EXPECT_FALSE(read()) << "neither an original nor an output";
  flags({1, 0, 0, 0, 0});
  EXPECT_FALSE(read()) << "never used, and yet a tensor";
  flags({0, 0, 2, 0, 0});
  EXPECT_FALSE(read()) << "no flag has this value";
  flags({0, 0, 1, 0, 0});
  put(8, 12345);
  EXPECT_FALSE(read()) << "no pointer has this value";
}

class WalkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(objects_.refresh());
    classes_->start(&objects_);
    layout_.edges = 16;
    layout_.edge_size = 16;
  }
  SharedObjectMap objects_;
  std::unique_ptr<ObjectClasses> classes_ = std::make_unique<ObjectClasses>();
  NodeLayout layout_;
};

TEST_F(WalkTest, DerivedClassesAreToldByTheirTypeInfo) {
  const Operation operation;
  const Other other;
  const Both both;
  uint64_t vtable;
  memcpy(&vtable, &operation, 8);
  EXPECT_TRUE(classes_->derives_from(vtable, kNodeClass));
  EXPECT_FALSE(classes_->derives_from(vtable, "N5torch8autograd4NodE"));
  memcpy(&vtable, &other, 8);
  EXPECT_FALSE(classes_->derives_from(vtable, kNodeClass));
  memcpy(&vtable, &both, 8);
  EXPECT_TRUE(classes_->derives_from(vtable, kNodeClass)) << "one of several bases";
  EXPECT_FALSE(classes_->derives_from(at(&vtable), kNodeClass));
  EXPECT_FALSE(classes_->derives_from(0, kNodeClass));
}

TEST_F(WalkTest, GoesAlongAllEdgesOnce) {
  if (under_qemu()) GTEST_SKIP() << kNoSafeReads;
  Operation leaf, left, right, top;
  Edge to_leaf[] = {{&leaf, 0}};
  Edge down[] = {{&left, 0}, {&right, 1}, {nullptr, 0}, {&left, 0}};
  left.lead_to(to_leaf, 1);
  right.lead_to(to_leaf, 1);
  top.lead_to(down, 4);
  GraphWalk walk(*classes_);
  EXPECT_EQ(walk.add(at(&top)), 0u);
  ASSERT_TRUE(walk.walk(layout_));
  ASSERT_EQ(walk.nodes.size(), 4u);
  EXPECT_EQ(walk.nodes[0].edges, 4u);
  const uint32_t left_number = walk.add(at(&left));
  EXPECT_EQ(walk.edges[0].node, left_number);
  EXPECT_EQ(walk.edges[3].node, left_number);
  EXPECT_EQ(walk.edges[1].input, 1u);
  EXPECT_EQ(walk.edges[2].node, AddressMap::kNone);
  for (const WalkedNode& node : walk.nodes) EXPECT_TRUE(node.alive && !node.partial);
}

TEST_F(WalkTest, WhatIsNoNodeIsNotAlive) {
  if (under_qemu()) GTEST_SKIP() << kNoSafeReads;
  Operation top;
  Other stranger;
  Edge down[] = {{reinterpret_cast<::torch::autograd::Node*>(&stranger), 0},
                 {reinterpret_cast<::torch::autograd::Node*>(64), 0}};
  top.lead_to(down, 2);
  GraphWalk walk(*classes_);
  walk.add(at(&top));
  ASSERT_TRUE(walk.walk(layout_));
  ASSERT_EQ(walk.nodes.size(), 2u) << "64 is no address of an object";
  EXPECT_TRUE(walk.nodes[0].alive);
  EXPECT_TRUE(walk.nodes[0].partial);
  EXPECT_FALSE(walk.nodes[1].alive);
  top.end = top.begin - 1;
  GraphWalk torn(*classes_);
  torn.add(at(&top));
  ASSERT_TRUE(torn.walk(layout_));
  EXPECT_TRUE(torn.nodes[0].partial);
}

TEST_F(WalkTest, EdgesAreFoundByVote) {
  if (under_qemu()) GTEST_SKIP() << kNoSafeReads;
  std::vector<LargeOperation> operations(20);
  std::vector<Edge> edges(60);
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < operations.size(); ++i) {
    for (size_t e = 0; e < i % 4; ++e) edges[i * 3 + e] = {&operations[i / 2], e};
    operations[i].lead_to(&edges[i * 3], i % 4);
    addresses.push_back(at(&operations[i]));
  }
  NodeLayout layout;
  const Status found = find_edges(addresses, *classes_, layout);
  ASSERT_TRUE(found) << found.why();
  EXPECT_EQ(layout.edges, 16u);
  EXPECT_EQ(layout.edge_size, 16u);
  for (LargeOperation& operation : operations) operation.lead_to(nullptr, 0);
  NodeLayout nothing;
  EXPECT_STREQ(find_edges(addresses, *classes_, nothing).why(), "the layout of this torch's autograd nodes is unknown");
}

TEST_F(WalkTest, TheAllocatorTellsHowLargeABlockIs) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's malloc is not glibc's";
#endif
  NodeExtents extents(*classes_, true);
  if (!extents.known()) GTEST_SKIP() << "another allocator than glibc's, and no table of nodes";
  if (under_qemu()) GTEST_SKIP() << kNoSafeReads;
  const std::unique_ptr<char[]> block(new char[200]);
  std::vector<size_t> sizes;
  ASSERT_TRUE(extents.read({at(block.get()), 64}, sizes));
  EXPECT_GE(sizes[0], 200u);
  EXPECT_LE(sizes[0], 232u);
  EXPECT_EQ(sizes[1], 0u);
}

}  // namespace
}  // namespace tensorscope::torch
