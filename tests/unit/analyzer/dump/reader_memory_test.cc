// SPDX-License-Identifier: Apache-2.0
// Reading of what failed, of devices' memory and of the CUDA runtime's blocks, sound and hostile.
// Covers: analyzer/dump/decode/{devices,runtime_blocks,failure_row,process}.cc
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dump/reader.h"
#include "support/dump_builder.h"
#include "support/sample_values.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {
namespace {

using testing::kMiB;

using format::BlockState;
using testing::DeviceMemorySpec;
using testing::DumpBuilder;
using testing::FailureSpec;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RuntimeBlockSpec;
using testing::SegmentSpec;

Dump read_memory(const DumpBuilder& builder) {
  const std::string bytes = builder.bytes();
  return read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
}

SegmentSpec segment(uint64_t address, uint64_t size, std::vector<format::SegmentBlock> blocks = {}) {
  SegmentSpec spec;
  spec.address = address;
  spec.size = size;
  spec.blocks = std::move(blocks);
  return spec;
}

DumpBuilder with_segment(const SegmentSpec& spec) {
  DumpBuilder builder;
  DeviceMemorySpec memory;
  memory.segments = {spec};
  builder.device_memory(memory);
  return builder;
}

TEST(ReaderMemory, AFailureIsReadWithItsNode) {
  DumpBuilder builder;
  const uint32_t thread = builder.thread(7, "backward");
  const uint32_t site = builder.site(0, builder.python({{"train.py", "main", 3, true}}));
  builder.node(0x5000, "N5torch8autograd9generated12MulBackward0E", site);
  FailureSpec failure;
  failure.requested = 2048 * kMiB;
  failure.limit_bytes = 80 * kMiB;
  failure.left_bytes = kMiB;
  failure.site = site;
  failure.thread = thread;
  failure.node = builder.node(0x6000, "N5torch8autograd9generated12ExpBackward0E", site);
  failure.failures = 3;
  failure.without_dump = 2;
  builder.failure(failure);
  const Dump dump = read_memory(builder);
  EXPECT_THAT(dump.problems, IsEmpty());
  ASSERT_TRUE(dump.failure);
  EXPECT_EQ(dump.failure->kind, uint8_t(format::FailureKind::device));
  EXPECT_EQ(dump.failure->device, (Device{1, 0}));
  EXPECT_EQ(dump.failure->requested, 2048 * kMiB);
  EXPECT_EQ(dump.failure->left_bytes, kMiB);
  EXPECT_EQ(dump.failure->error, "c10::OutOfMemoryError");
  EXPECT_EQ(dump.failure->site, site);
  EXPECT_EQ(dump.failure->thread, thread);
  EXPECT_EQ(dump.failure->node, 1u);
  EXPECT_EQ(dump.failure->without_dump, 2u);
}

TEST(ReaderMemory, WildReferencesOfAFailureAreCleared) {
  DumpBuilder builder;
  FailureSpec failure;
  failure.kind = format::FailureKind(77);
  failure.limit = format::MemoryLimit(77);
  failure.site = failure.thread = 99;
  failure.node = 99;
  failure.limit_bytes = 5;
  failure.left_bytes = 6;
  failure.failures = 1;
  failure.without_dump = 9;
  builder.failure(failure);
  const Dump dump = read_memory(builder);
  ASSERT_TRUE(dump.failure);
  EXPECT_EQ(dump.failure->kind, 0);
  EXPECT_EQ(dump.failure->limit, 0);
  EXPECT_EQ(dump.failure->site, 0u);
  EXPECT_EQ(dump.failure->thread, 0u);
  EXPECT_EQ(dump.failure->node, kNone);
  EXPECT_EQ(dump.failure->limit_bytes, 0u);
  EXPECT_EQ(dump.failure->left_bytes, 0u);
  EXPECT_EQ(dump.failure->without_dump, 1u);
}

TEST(ReaderMemory, SegmentsKeepTheirBlocks) {
  DumpBuilder builder;
  DeviceMemorySpec memory;
  memory.driver_total = 64 * kMiB;
  memory.driver_free = 2 * kMiB;
  memory.processes = {{11, 5 * kMiB}, {12, UINT64_MAX}};
  memory.segments = {
      segment(0x100000, 2 * kMiB, {{0x100000, kMiB, 1000, BlockState::allocated}}),
      segment(0x900000, 2 * kMiB,
              {{0x900000, kMiB, 500, BlockState::pending_free}, {0x900000 + kMiB, kMiB, 0, BlockState::free}})};
  memory.segments[1].pool = 3;
  memory.segments[1].flags = uint8_t(format::SegmentFlag::expandable);
  builder.device_memory(memory);
  memory.device_index = 1;
  builder.device_memory(memory);
  const Dump dump = read_memory(builder);
  EXPECT_THAT(dump.problems, IsEmpty());
  ASSERT_EQ(dump.device_memory.size(), 2u);
  const DeviceMemory& first = dump.device_memory[0];
  EXPECT_EQ(first.device.text(), "cuda:0");
  EXPECT_EQ(first.processes[0].bytes, 5 * kMiB);
  EXPECT_FALSE(first.processes[1].bytes);
  ASSERT_EQ(first.segments.size(), 2u);
  EXPECT_EQ(first.segments[0].allocated, kMiB);
  EXPECT_EQ(first.segments[1].active, kMiB);
  EXPECT_EQ(first.segments[1].allocated, 0u);
  EXPECT_TRUE(first.segments[1].private_pool());
  EXPECT_TRUE(first.segments[1].expandable);
  EXPECT_EQ(first.blocks_of(first.segments[1]).size(), 2u);
  EXPECT_EQ(first.blocks_of(first.segments[1])[1].address, 0x900000 + kMiB);
}

TEST(ReaderMemory, BlocksOutsideOfTheirSegmentAreLeftOut) {
  const Dump dump =
      read_memory(with_segment(segment(0x1000, 0x1000,
                                       {{0x0800, 0x100, 0, BlockState::free},           // before
                                        {0x1000, 0x800, 0x900, BlockState::allocated},  // asked for more than it is
                                        {0x1400, 0x100, 0, BlockState::free},           // inside another
                                        {0x1800, UINT64_MAX, 0, BlockState::free},      // beyond
                                        {0x1800, 0x100, 0, BlockState(9)}})));
  ASSERT_EQ(dump.device_memory[0].blocks.size(), 1u);
  EXPECT_EQ(dump.device_memory[0].blocks[0].address, 0x1000u);
  EXPECT_EQ(dump.device_memory[0].blocks[0].requested, 0u);
  ASSERT_FALSE(dump.problems.empty());
  EXPECT_THAT(dump.problems[0], HasSubstr("4 blocks outside of their segment"));
}

TEST(ReaderMemory, MoreBlocksThanTheFileHasAreNotRead) {
  SegmentSpec wild = segment(0x1000, 0x1000, {{0x1000, 0x100, 0, BlockState::free}});
  wild.block_count = UINT32_MAX - 1;
  const Dump dump = read_memory(with_segment(wild));
  EXPECT_EQ(dump.device_memory[0].segments[0].block_count, 1u);
  EXPECT_FALSE(dump.problems.empty());
}

TEST(ReaderMemory, ImpossibleSegmentsAndTotalsAreCleared) {
  DumpBuilder builder;
  DeviceMemorySpec memory;
  memory.driver_total = 10;
  memory.driver_free = 11;
  memory.segments = {segment(UINT64_MAX - 10, 100), segment(0x1000, UINT64_MAX / 2 - 0x2000),
                     segment(0x1000, UINT64_MAX / 2 - 0x2000)};
  memory.segments[1].allocated = 50;
  memory.segments[1].active = 20;
  builder.device_memory(memory);
  builder.device_memory(memory);
  const Dump dump = read_memory(builder);
  ASSERT_EQ(dump.device_memory.size(), 1u);
  EXPECT_EQ(dump.device_memory[0].driver_total, 0u);
  EXPECT_EQ(dump.device_memory[0].driver_free, 0u);
  ASSERT_EQ(dump.device_memory[0].segments.size(), 1u);
  EXPECT_EQ(dump.device_memory[0].segments[0].allocated, 20u);
  ASSERT_FALSE(dump.problems.empty());
  EXPECT_THAT(dump.problems[0], HasSubstr("1 second descriptions of a device's memory"));
}

TEST(ReaderMemory, RuntimeBlocksAreSortedAndChecked) {
  DumpBuilder builder;
  const uint32_t site = builder.site(builder.native({0x1000}), 0);
  builder.runtime_block({.serial = 9, .pointer = 0x2000, .nbytes = 64, .site = site});
  builder.runtime_block({.serial = 4, .pointer = 0x1000, .nbytes = 32, .site = 77, .by_torch = true});
  builder.runtime_block({.serial = 4, .pointer = 0x3000, .nbytes = 32});
  builder.runtime_block({.serial = 10, .pointer = UINT64_MAX, .nbytes = 2});
  builder.runtime_block({.serial = 11, .pointer = 0x5000, .nbytes = 2, .kind = format::RuntimeKind(9)});
  builder.runtime_block(
      {.serial = 12, .pointer = 0x6000, .nbytes = 2, .kind = format::RuntimeKind::pinned, .device_index = -1});
  const Dump dump = read_memory(builder);
  ASSERT_EQ(dump.runtime_blocks.size(), 3u);
  EXPECT_EQ(dump.runtime_blocks[0].serial, 4u);
  EXPECT_EQ(dump.runtime_blocks[0].site, 0u);
  EXPECT_TRUE(dump.runtime_blocks[0].by_torch);
  EXPECT_EQ(dump.runtime_blocks[1].site, site);
  EXPECT_EQ(dump.runtime_blocks[1].device, (Device{1, 0}));
  EXPECT_TRUE(dump.runtime_blocks[2].device.is_cpu());
  ASSERT_FALSE(dump.problems.empty());
  EXPECT_THAT(dump.problems[0], HasSubstr("2 invalid blocks of the CUDA runtime"));
}

struct MappingSpec {
  const char* name;
  uint8_t kind;
  uint64_t resident, private_bytes, anonymous;
};

Dump with_chunks(const std::string& payload, size_t chunks) {
  std::vector<testing::Chunk> all = DumpBuilder().chunks();
  for (size_t i = 0; i < chunks; ++i) all.push_back({format::kProcessMemory, payload});
  const std::string bytes = DumpBuilder::frame(all);
  return read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
}

struct HolderSpec {
  uint32_t pid;
  const char* name;
  uint64_t bytes, deleted;
};

// A dump whose PMEM chunk has these holders of shared memory.
Dump with_shared_memory(uint64_t total, uint64_t left, const std::vector<HolderSpec>& rows) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<flatbuffers::Offset<format::SharedHolder>> holders;
  for (const HolderSpec& row : rows) {
    const auto name = fbb.CreateString(row.name);
    holders.push_back(format::CreateSharedHolder(fbb, row.pid, name, 2, row.bytes, row.deleted));
  }
  const auto vector = fbb.CreateVector(holders);
  const auto detail = fbb.CreateString("not all");
  fbb.FinishSizePrefixed(format::CreateProcessMemory(fbb, 0, 0, 0, 0, 0, total, left, vector, detail));
  return with_chunks({reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()}, 1);
}

// A dump whose PMEM chunk has these rows.
Dump with_process_memory(uint64_t arenas, uint64_t in_use, const std::vector<MappingSpec>& rows, size_t chunks = 1) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<flatbuffers::Offset<format::Mapping>> mappings;
  for (const MappingSpec& row : rows) {
    const auto name = row.name != nullptr ? fbb.CreateString(row.name) : 0;
    mappings.push_back(format::CreateMapping(fbb, name, format::MappingKind(row.kind), 3, row.resident,
                                             row.private_bytes, row.anonymous));
  }
  const auto vector = fbb.CreateVector(mappings);
  fbb.FinishSizePrefixed(format::CreateProcessMemory(fbb, arenas, in_use, 0, vector, 0));
  return with_chunks({reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()}, chunks);
}

std::vector<std::string> names_of(const Dump& dump) {
  std::vector<std::string> names;
  for (const Mapping& mapping : dump.process_parts.mappings) names.push_back(mapping.name);
  return names;
}

TEST(ReaderMemory, MappingsAreReadTheLargestFirst) {
  const Dump dump = with_process_memory(
      9 * kMiB, 4 * kMiB,
      {{"libtorch_cpu.so", 0, kMiB, kMiB / 2, kMiB / 4}, {nullptr, 1, 2 * kMiB, 2 * kMiB, 2 * kMiB}});
  EXPECT_THAT(dump.problems, IsEmpty());
  const ProcessParts& parts = dump.process_parts;
  EXPECT_EQ(parts.python_arenas, 9 * kMiB);
  EXPECT_EQ(parts.python_in_use, 4 * kMiB);
  EXPECT_EQ(names_of(dump), (std::vector<std::string>{"", "libtorch_cpu.so"}));
  EXPECT_EQ(parts.mappings[1].of_file(), kMiB - kMiB / 4);
  EXPECT_EQ(parts.mappings[1].copied(), kMiB / 4);
}

TEST(ReaderMemory, WhoHoldsSharedMemoryIsRead) {
  const Dump dump = with_shared_memory(
      64 * kMiB, 4 * kMiB, {{4242, "python", 40 * kMiB, kMiB}, {0, "psm_1", 2 * kMiB, 0}, {7, "wrong", 1, 2}});
  const ProcessParts& parts = dump.process_parts;
  EXPECT_EQ(parts.shared_total, 64 * kMiB);
  EXPECT_EQ(parts.shared_left, 4 * kMiB);
  EXPECT_EQ(parts.shared_detail, "not all");
  ASSERT_EQ(parts.shared_holders.size(), 2u);
  EXPECT_EQ(parts.shared_holders[0].pid, 4242u);
  EXPECT_EQ(parts.shared_holders[0].name, "python");
  EXPECT_EQ(parts.shared_holders[0].files, 2u);
  EXPECT_EQ(parts.shared_holders[0].bytes, 40 * kMiB);
  EXPECT_EQ(parts.shared_holders[0].deleted, kMiB);
  EXPECT_THAT(dump.problems, ::testing::ElementsAre(HasSubstr("1 invalid holders of shared memory")));
}

TEST(ReaderMemory, MoreSharedMemoryLeftThanThereIsIsNotKnown) {
  const Dump dump = with_shared_memory(kMiB, 4 * kMiB, {{4242, "python", kMiB, 0}});
  EXPECT_EQ(dump.process_parts.shared_total, 0u);
  EXPECT_TRUE(dump.process_parts.shared_holders.empty());
  EXPECT_THAT(dump.problems, ::testing::ElementsAre(HasSubstr("invalid sizes of shared memory")));
}

TEST(ReaderMemory, DamagedRowsOfProcessMemoryAreLeftOut) {
  const Dump dump = with_process_memory(4 * kMiB, 9 * kMiB,
                                        {{"unknown kind", 99, kMiB, 0, 0},
                                         {"more anonymous than resident", 0, kMiB, 0, 2 * kMiB},
                                         {"more private than resident", 0, kMiB, 2 * kMiB, 0},
                                         {"impossible", 0, UINT64_MAX, 0, 0},
                                         {"sound", 0, kMiB, kMiB, kMiB}});
  EXPECT_THAT(dump.problems, ::testing::ElementsAre(HasSubstr("4 invalid mappings, 1 invalid sizes of Python's heap")));
  EXPECT_EQ(dump.process_parts.python_arenas, 0u);
  EXPECT_EQ(dump.process_parts.python_in_use, 0u);
  EXPECT_EQ(names_of(dump), (std::vector<std::string>{"sound"}));
}

TEST(ReaderMemory, ASumOfMappingsThatCannotBeIsNotTaken) {
  const uint64_t most = UINT64_MAX / 2;
  const Dump dump = with_process_memory(0, 0, {{"a", 0, most, 0, 0}, {"b", 0, most, 0, 0}, {"c", 0, most, 0, 0}});
  uint64_t sum = 0;
  for (const Mapping& mapping : dump.process_parts.mappings) {
    ASSERT_FALSE(__builtin_add_overflow(sum, mapping.resident, &sum));
  }
  EXPECT_THAT(dump.problems, ::testing::ElementsAre(HasSubstr("invalid mappings")));
}

TEST(ReaderMemory, ASecondChunkOfProcessMemoryIsNotRead) {
  const Dump dump = with_process_memory(9 * kMiB, 4 * kMiB, {{"a", 0, kMiB, 0, 0}}, 2);
  EXPECT_EQ(dump.process_parts.mappings.size(), 1u);
  EXPECT_EQ(dump.problems.size(), 1u);
}

}  // namespace
}  // namespace tensorscope::analyzer
