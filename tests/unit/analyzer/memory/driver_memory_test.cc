// SPDX-License-Identifier: Apache-2.0
// What CUPTI reported: read from sound and hostile files, and whose the memory is.
// Covers: analyzer/memory/driver_sums.cc analyzer/dump/decode/cupti.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/reader.h"
#include "memory/driver_sums.h"
#include "support/dump_builder.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {
namespace {

using testing::Chunk;
using testing::DumpBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = format::DriverMemoryKind;

template <typename Table>
Chunk chunk_of(uint32_t type, flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Table> root) {
  builder.FinishSizePrefixed(root);
  return {type, std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize())};
}

Chunk memory_of(const std::vector<format::DriverBlock>& rows) {
  flatbuffers::FlatBufferBuilder fbb;
  auto values = fbb.CreateVectorOfStructs(rows);
  return chunk_of(format::kDriverMemory, fbb,
                  format::CreateDriverMemory(fbb, values, 2'000'000'000, 0, 10, 7, 1, 2, 130001, true));
}

Chunk launches_of(const std::vector<format::SiteLaunches>& rows) {
  flatbuffers::FlatBufferBuilder fbb;
  auto values = fbb.CreateVectorOfStructs(rows);
  return chunk_of(format::kLaunches, fbb, format::CreateLaunches(fbb, values));
}

format::DriverBlock block(uint64_t pointer, uint64_t nbytes, Kind kind = Kind::device, int8_t device = 0,
                          uint32_t site = 0) {
  return {pointer, nbytes, 3'000'000'000, 4242, 1, 0, site, kind, 0, device};
}

Dump read(const DumpBuilder& builder, const std::vector<Chunk>& more) {
  std::vector<Chunk> chunks = builder.chunks();
  chunks.insert(chunks.end(), more.begin(), more.end());
  const std::string bytes = DumpBuilder::frame(chunks);
  return read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
}

TEST(DriverMemory, IsAbsentWhereNobodyAsked) {
  const Dump dump = read(DumpBuilder(), {});
  EXPECT_FALSE(dump.driver_memory.present);
  EXPECT_FALSE(dump.launches_known);
}

TEST(DriverMemory, IsReadFromSeveralChunksByAddress) {
  DumpBuilder builder;
  const uint32_t site = builder.site(0, builder.python({{"train.py", "main", 3, true}}));
  const Dump dump = read(builder, {memory_of({block(0x9000, 64, Kind::device, 1, site)}),
                                   memory_of({block(0x5000, 32, Kind::pinned)}), launches_of({})});
  EXPECT_THAT(dump.problems, IsEmpty());
  const DriverMemory& memory = dump.driver_memory;
  ASSERT_TRUE(memory.present && dump.launches_known);
  ASSERT_EQ(memory.blocks.size(), 2u);
  EXPECT_EQ(memory.blocks[0].pointer, 0x5000u);
  EXPECT_TRUE(memory.blocks[0].device.is_cpu());
  EXPECT_EQ(memory.blocks[1].device.text(), "cuda:1");
  EXPECT_EQ(memory.blocks[1].site, site);
  EXPECT_EQ(memory.allocations, 10u);
  EXPECT_EQ(memory.unknown_releases, 1u);
  EXPECT_EQ(memory.lost, 2u);
  EXPECT_EQ(memory.version, 130001u);
}

TEST(DriverMemory, WhatCannotBeIsLeftOut) {
  const Dump dump =
      read(DumpBuilder(), {memory_of({block(UINT64_MAX - 4, 64), block(0x1000, 8, Kind(77)), block(0x2000, 8),
                                      block(0x2000, 9), block(0x3000, INT64_MAX), block(0x4000, 8, Kind::device, 0, 99),
                                      block(0, 16, Kind::physical), block(0, 16, Kind::physical)}),
                           launches_of({{INT64_MAX, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                        {1, UINT64_MAX, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 99}})});
  std::vector<uint64_t> pointers, sizes;
  for (const DriverBlock& kept : dump.driver_memory.blocks) {
    pointers.push_back(kept.pointer);
    sizes.push_back(kept.nbytes);
    EXPECT_EQ(kept.site, 0u);
  }
  EXPECT_THAT(pointers, ElementsAre(0, 0, 0x2000, 0x3000, 0x4000));  // what is mapped nowhere may be there twice
  EXPECT_THAT(sizes, ElementsAre(16, 16, 8, 0, 8));
  ASSERT_EQ(dump.launches.size(), 2u);
  EXPECT_EQ(dump.launches[1].site, 0u);
  const std::string problems = ::testing::PrintToString(dump.problems);
  for (const char* what : {"2 invalid driver blocks", "1 blocks of the driver listed twice",
                           "references to missing sites", "of an impossible size", "impossible numbers of kernels"}) {
    EXPECT_THAT(problems, HasSubstr(what));
  }
}

TEST(DriverSums, SayWhoseTheMemoryIs) {
  DumpBuilder builder;
  testing::RuntimeBlockSpec segment;
  segment.pointer = 0x10000;
  segment.nbytes = 0x1000;
  segment.by_torch = true;
  builder.runtime_block(segment);
  testing::RuntimeBlockSpec own = segment;
  own.pointer = 0x20000;
  own.by_torch = false;
  builder.runtime_block(own);
  testing::AllocationSpec allocation;
  allocation.pointer = 0x30100;
  allocation.nbytes = 0x100;
  allocation.kind = format::AllocationKind::caching;
  allocation.device_type = 1;
  allocation.device_index = 0;
  builder.allocation(allocation);
  testing::DeviceMemorySpec device;
  testing::SegmentSpec expandable;
  expandable.address = 0x40000;
  expandable.size = 0x2000;
  device.segments = {expandable};
  builder.device_memory(device);
  const Dump dump =
      read(builder, {memory_of({block(0x10000, 0x1000), block(0x20000, 0x1000), block(0x30000, 0x1000),
                                block(0x41000, 0x1000, Kind::physical), block(0x42000, 0x1000), block(0x50000, 7),
                                block(0x30200, 0x10, Kind::device, 1), block(0x60000, 5, Kind::pinned)})});
  const auto shares = driver_shares(dump);
  using enum DriverShare;
  // By address: 0x30200 is on another device than the allocation, and begins behind it.
  EXPECT_THAT(shares, ElementsAre(torch, runtime, torch, other, torch, other, other, other));
  const auto sums = driver_sums(dump, shares);
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_TRUE(sums[0].device.is_cpu());
  EXPECT_EQ(sums[0].all.bytes, 5u);
  EXPECT_EQ(sums[1].device.text(), "cuda:0");
  EXPECT_EQ(sums[1].all.blocks, 6u);
  EXPECT_EQ(sums[1].shares.at(torch).bytes, 0x3000u);
  EXPECT_EQ(sums[1].shares.at(runtime).bytes, 0x1000u);
  EXPECT_EQ(sums[1].shares.at(other).bytes, 0x1007u);
  EXPECT_EQ(sums[1].kinds.at(uint8_t(Kind::physical)).blocks, 1u);
  EXPECT_EQ(sums[2].device.text(), "cuda:1");
}

TEST(DriverSums, LaunchesAddUp) {
  const Dump dump = read(DumpBuilder(), {launches_of({{1, 10, 2, 20, 3, 4, 5, 6, 7, 8, 0}}),
                                         launches_of({{10, 100, 20, 200, 30, 40, 50, 60, 70, 80, 0}})});
  const SiteLaunches all = launch_totals(dump);
  EXPECT_EQ(all.kernels, 11u);
  EXPECT_EQ(all.device_ns(), 110u + 33u + 88u);
  EXPECT_EQ(all.copied_bytes, 220u);
  EXPECT_EQ(all.to_device_bytes, 44u);
  EXPECT_EQ(all.to_host_bytes, 55u);
  EXPECT_EQ(all.filled_bytes, 77u);
}

}  // namespace
}  // namespace tensorscope::analyzer
