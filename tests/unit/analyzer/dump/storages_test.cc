// SPDX-License-Identifier: Apache-2.0
#include "dump/storages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "dump/reader.h"
#include "support/dump_builder.h"
#include "tensorscope/rules/interval_union.h"

namespace tensorscope::analyzer {
namespace {

using testing::AllocationSpec;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using testing::TensorSpec;

Dump read_built(const DumpBuilder& builder) {
  std::string bytes = builder.bytes();
  return read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
}

TensorSpec at(uint64_t base, int64_t floats, int8_t device_type = 0, int8_t device_index = -1) {
  TensorSpec tensor;
  tensor.storage_base = base;
  tensor.sizes = {floats};
  tensor.device_type = device_type;
  tensor.device_index = device_index;
  return tensor;
}

AllocationSpec block(uint64_t pointer, uint64_t nbytes, format::AllocationKind kind = format::AllocationKind::heap) {
  AllocationSpec allocation;
  allocation.pointer = pointer;
  allocation.nbytes = nbytes;
  allocation.kind = kind;
  return allocation;
}

TEST(Storages, ViewsShareOne) {
  DumpBuilder builder;
  builder.allocation(block(0x1000, 400));
  builder.tensor(at(0x1000, 100));
  TensorSpec view = at(0x1000, 10);
  view.storage_nbytes = 400;
  view.storage_offset = 7;
  builder.tensor(view);
  Dump dump = read_built(builder);
  ASSERT_EQ(dump.storages.size(), 1u);
  EXPECT_EQ(dump.storages[0].id, dump.tensors[0].serial);
  EXPECT_EQ(dump.storages[0].nbytes, 400u);
  EXPECT_EQ(dump.storages[0].own_nbytes, 400u);
  EXPECT_THAT(dump.storages[0].tensors, ElementsAre(0, 1));
  EXPECT_EQ(dump.storages[0].kind, StorageKind::allocator);
  EXPECT_EQ(dump.allocations[dump.storages[0].allocation].pointer, 0x1000u);
  EXPECT_EQ(dump.tensors[1].nbytes, 40u);
}

TEST(Storages, TheSameAddressOnAnotherDeviceIsAnotherStorage) {
  DumpBuilder builder;
  builder.tensor(at(0x1000, 1, 1, 0));
  builder.tensor(at(0x1000, 1, 1, 1));
  builder.tensor(at(0x1000, 1));
  EXPECT_EQ(read_built(builder).storages.size(), 3u);
}

TEST(Storages, OverlapsAreCountedOnce) {
  DumpBuilder builder;
  builder.tensor(at(0x1000, 256));       // 0x1000 .. 0x1400
  builder.tensor(at(0x1200, 256));       // 0x1200 .. 0x1600: half of it new
  builder.tensor(at(0x0c00, 1024));      // 0x0c00 .. 0x1c00: around both
  builder.tensor(at(0x1100, 16));        // inside
  builder.tensor(at(0x1100, 16, 1, 0));  // another device
  Dump dump = read_built(builder);
  std::vector<uint64_t> own;
  for (const Storage& storage : dump.storages) own.push_back(storage.own_nbytes);
  EXPECT_THAT(own, ElementsAre(0x400, 0x200, 0x1000 - 0x600, 0, 64));
}

TEST(Storages, OwnBytesAreThoseOfAUnionInTheOrderOfStorages) {
  std::mt19937 random(1);
  DumpBuilder builder;
  std::set<std::pair<int8_t, uint64_t>> taken;
  for (int i = 0; i < 400; ++i) {
    const int8_t device = random() % 2 == 0 ? 0 : 1;
    const uint64_t base = 0x1000 + random() % 200 * 64;
    if (!taken.emplace(device, base).second) continue;
    builder.tensor(at(base, int64_t(random() % 40), device, device == 0 ? -1 : 0));
  }
  std::map<Device, rules::IntervalUnion> counted;
  size_t alone = 0, shared = 0;
  for (const Storage& storage : read_built(builder).storages) {
    const uint64_t end = storage.data_ptr + storage.nbytes;
    const uint64_t own = storage.nbytes == 0 ? 0 : counted[storage.device].add(storage.data_ptr, end);
    EXPECT_EQ(storage.own_nbytes, own) << storage.data_ptr;
    (own == storage.nbytes ? alone : shared) += 1;
  }
  EXPECT_GT(alone, 20u);
  EXPECT_GT(shared, 20u);
}

TEST(Storages, MappedFileHoldsManyStorages) {
  DumpBuilder builder;
  builder.allocation(block(0x100000, 0x10000, format::AllocationKind::mapped));
  builder.allocation(block(0x104000, 0x100));  // nested: the inner block does not hide the outer one
  builder.tensor(at(0x100040, 16));
  builder.tensor(at(0x105000, 16));
  builder.tensor(at(0x104000, 16));
  builder.tensor(at(0x110000, 16));  // one past the end
  builder.coverage("CPU memory", format::Seen::yes, "");
  Dump dump = read_built(builder);
  EXPECT_EQ(dump.storages[0].kind, StorageKind::shared);
  EXPECT_EQ(dump.storages[1].kind, StorageKind::shared);
  EXPECT_EQ(dump.storages[2].kind, StorageKind::allocator);
  EXPECT_EQ(dump.storages[3].kind, StorageKind::external);
  EXPECT_THAT(dump.allocations[0].storages, ElementsAre(0, 1));
}

TEST(Storages, ForeignOnlyWhereAllAllocationsWereSeen) {
  DumpBuilder builder;
  builder.tensor(at(0x1000, 1));
  EXPECT_EQ(read_built(builder).storages[0].kind, StorageKind::unknown);
  DumpBuilder partly = builder;
  partly.coverage("CPU memory", format::Seen::partly, "");
  EXPECT_EQ(read_built(partly).storages[0].kind, StorageKind::unknown);
  builder.coverage("CPU memory", format::Seen::yes, "");
  EXPECT_EQ(read_built(builder).storages[0].kind, StorageKind::external);
}

TEST(Storages, NoMemoryNoStorage) {
  DumpBuilder builder;
  TensorSpec meta = at(0, 1000, 14);
  builder.tensor(meta);
  TensorSpec sparse = at(0x1000, 10);
  sparse.known &= ~uint32_t(format::TensorKnown::storage);
  builder.tensor(sparse);
  Dump dump = read_built(builder);
  EXPECT_TRUE(dump.storages.empty());
  EXPECT_EQ(dump.tensors[0].storage, kNone);
  EXPECT_EQ(dump.tensors[0].nbytes, 4000u);
}

TEST(Storages, PinnedMemoryComesFromACachingAllocatorOfTheHost) {
  DumpBuilder builder;
  builder.allocation(block(0x1000, 512, format::AllocationKind::caching));
  builder.tensor(at(0x1000, 4));
  EXPECT_EQ(read_built(builder).storages[0].kind, StorageKind::pinned);
}

testing::RuntimeBlockSpec runtime_block(uint64_t pointer, uint64_t nbytes, format::RuntimeKind kind) {
  testing::RuntimeBlockSpec block;
  block.pointer = pointer;
  block.nbytes = nbytes;
  block.kind = kind;
  return block;
}

TEST(Storages, WhatLiesInABlockOfTheCudaRuntimeIsNotForeign) {
  DumpBuilder builder;
  builder.coverage("CPU memory", format::Seen::yes, "");
  builder.coverage("CUDA memory", format::Seen::yes, "");
  testing::RuntimeBlockSpec pinned = runtime_block(0x1000, 512, format::RuntimeKind::pinned);
  pinned.device_index = -1;
  pinned.by_torch = true;
  builder.runtime_block(pinned);
  builder.runtime_block(runtime_block(0x8000, 4096, format::RuntimeKind::device));
  testing::RuntimeBlockSpec of_torch = runtime_block(0x20000, 4096, format::RuntimeKind::device);
  of_torch.by_torch = true;
  builder.runtime_block(of_torch);
  builder.tensor(at(0x1100, 4));
  builder.tensor(at(0x8100, 4, 1, 0));
  builder.tensor(at(0x8100, 4, 1, 1));   // another device
  builder.tensor(at(0x20000, 4, 1, 0));  // in a segment of torch's
  const Dump dump = read_built(builder);
  EXPECT_EQ(dump.storages[0].kind, StorageKind::pinned);
  EXPECT_EQ(dump.storages[0].runtime_block, 0u);
  EXPECT_THAT(dump.runtime_blocks[0].storages, ElementsAre(0));
  EXPECT_EQ(dump.storages[1].kind, StorageKind::runtime);
  EXPECT_EQ(dump.storages[1].runtime_block, 1u);
  EXPECT_EQ(dump.storages[2].kind, StorageKind::external);
  EXPECT_EQ(dump.storages[2].runtime_block, kNone);
  EXPECT_EQ(dump.storages[3].runtime_block, kNone);
}

TEST(Storages, AnAllocationOfTorchIsPreferredToTheRuntimesBlock) {
  DumpBuilder builder;
  builder.allocation(block(0x1000, 400));
  testing::RuntimeBlockSpec registered = runtime_block(0x1000, 400, format::RuntimeKind::registered);
  registered.device_index = -1;
  builder.runtime_block(registered);
  builder.tensor(at(0x1000, 4));
  const Dump dump = read_built(builder);
  EXPECT_EQ(dump.storages[0].kind, StorageKind::allocator);
  EXPECT_EQ(dump.storages[0].runtime_block, kNone);
}

}  // namespace
}  // namespace tensorscope::analyzer
