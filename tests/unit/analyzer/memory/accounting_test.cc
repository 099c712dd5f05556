// SPDX-License-Identifier: Apache-2.0
#include "memory/accounting.h"

#include <gtest/gtest.h>

#include "dump/reader.h"
#include "support/dump_builder.h"

namespace tensorscope::analyzer {
namespace {

using testing::AllocationSpec;
using testing::DumpBuilder;
using testing::TensorSpec;

TensorSpec tensor_at(uint64_t base, int64_t floats, uint32_t site = 0) {
  TensorSpec spec;
  spec.sizes = {floats};
  spec.storage_base = base;
  spec.site = site;
  return spec;
}

AllocationSpec block_at(uint64_t pointer, uint64_t nbytes, uint32_t site = 0) {
  AllocationSpec spec;
  spec.pointer = pointer;
  spec.nbytes = nbytes;
  spec.site = site;
  return spec;
}

Dump read(const DumpBuilder& builder) {
  std::string bytes = builder.bytes();
  return read_dump_bytes(bytes.data(), bytes.size(), "test");
}

TEST(Accounting, ViewsOwnNothingAndTheAllocationsSiteOwnsTheStorage) {
  DumpBuilder builder;
  uint32_t maker = builder.site(0, builder.python({{"a.py", "make", 1}}));
  uint32_t viewer = builder.site(0, builder.python({{"b.py", "view", 2}}));
  builder.allocation(block_at(0x1000, 400, maker));
  builder.tensor(tensor_at(0x1000, 100, viewer));
  TensorSpec view = tensor_at(0x1000, 10, viewer);
  view.storage_nbytes = 400;
  builder.tensor(view);
  Dump dump = read(builder);
  Accounts accounts(dump);
  ASSERT_EQ(accounts.items().size(), 1u);
  EXPECT_EQ(accounts.items()[0].bytes, 400u);
  EXPECT_EQ(accounts.items()[0].site, maker);
  EXPECT_EQ(accounts.items()[0].tensor, 0u);
  EXPECT_EQ(accounts.item_of_tensor(0), accounts.item_of_tensor(1));
  EXPECT_EQ(accounts.total_bytes(), 400u);
}

TEST(Accounting, TheLinesOfADeviceAddUpToItsAllocations) {
  DumpBuilder builder;
  builder.allocation(block_at(0x1000, 512));  // 400 used: 112 rounding
  builder.tensor(tensor_at(0x1000, 100));
  builder.allocation(block_at(0x2000, 64));  // in no tensor
  AllocationSpec file = block_at(0x10000, 4096);
  file.kind = format::AllocationKind::mapped;
  builder.allocation(file);
  builder.tensor(tensor_at(0x10100, 64));  // two storages in one mapped file
  builder.tensor(tensor_at(0x11000 - 256, 64));
  builder.tensor(tensor_at(0x900000, 25));  // numpy's
  TensorSpec meta = tensor_at(0, 1000);
  meta.device_type = 14;
  builder.tensor(meta);
  Dump dump = read(builder);
  Accounts accounts(dump);

  ASSERT_EQ(accounts.devices().size(), 2u);
  const DeviceSums& cpu = accounts.devices()[0];
  EXPECT_EQ(cpu.allocator_bytes(), 512u + 64 + 4096);
  EXPECT_EQ(cpu.allocator_bytes(), dump.totals.devices[0].live_bytes);
  EXPECT_EQ(cpu.in_tensors.bytes, 400u);
  EXPECT_EQ(cpu.mapped.bytes, 512u);
  EXPECT_EQ(cpu.mapped.storages, 2u);
  EXPECT_EQ(cpu.no_tensor.bytes, 64u);
  EXPECT_EQ(cpu.rounding.bytes, 112u + 4096 - 512);
  EXPECT_EQ(cpu.outside_bytes(), 100u);
  EXPECT_EQ(cpu.tensors(), 4u);
  EXPECT_EQ(accounts.devices()[1].no_memory.tensors, 1u);
  EXPECT_EQ(accounts.total_bytes(), cpu.allocator_bytes() + cpu.outside_bytes());
}

TEST(Accounting, AStorageLargerThanItsBlockIsNotCountedIntoTheAllocator) {
  DumpBuilder builder;
  builder.allocation(block_at(0x1000, 100));
  builder.tensor(tensor_at(0x1000, 100));
  Dump dump = read(builder);
  Accounts accounts(dump);
  EXPECT_EQ(accounts.devices()[0].allocator_bytes(), 100u);
  EXPECT_EQ(accounts.devices()[0].outside_bytes(), 300u);
  EXPECT_EQ(accounts.total_bytes(), 400u);
}

TEST(Accounting, EveryTensorHasAnItem) {
  DumpBuilder builder;
  builder.tensor(tensor_at(0, 5));
  builder.tensor(tensor_at(0x1000, 5));
  Dump dump = read(builder);
  Accounts accounts(dump);
  for (uint32_t i = 0; i < dump.tensors.size(); ++i) ASSERT_LT(accounts.item_of_tensor(i), accounts.items().size());
  EXPECT_NE(accounts.item_of_tensor(0), accounts.item_of_tensor(1));
}

}  // namespace
}  // namespace tensorscope::analyzer
