// SPDX-License-Identifier: Apache-2.0
// Covers: analyzer/dump/chunk_root.cc
#include "dump/chunk_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "dump/reader.h"
#include "support/dump_builder.h"
#include "support/misaligned_rows.h"
#include "tensorscope/dump_format.h"
#include "values_generated.h"

namespace tensorscope::analyzer {
namespace {

using testing::Chunk;
using testing::payload_of_rows;

// A payload at an address of our choice: a multiple of 8, and so many bytes behind it.
class Placed {
 public:
  Placed(std::string_view payload, size_t behind)
      : bytes_(payload.size() / 8 + 2), behind_(behind), length_(payload.size()) {
    std::memcpy(data(), payload.data(), payload.size());
  }
  template <typename Root>
  bool sound() {
    return chunk_root<Root>(data(), length_) != nullptr;
  }

 private:
  uint8_t* data() { return reinterpret_cast<uint8_t*>(bytes_.data()) + behind_; }
  std::vector<uint64_t> bytes_;
  size_t behind_, length_;
};

template <typename Root>
bool sound(std::string_view payload, size_t behind = 0) {
  return Placed(payload, behind).sound<Root>();
}

template <typename Root>
std::string finished(flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Root> root) {
  builder.FinishSizePrefixed(root);
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

TEST(ChunkRoot, RowsOfEightBytesBeginAtMultiplesOfEight) {
  EXPECT_TRUE(sound<format::TensorRows>(payload_of_rows(0, sizeof(format::Tensor), 3, true)));
  EXPECT_FALSE(sound<format::TensorRows>(payload_of_rows(0, sizeof(format::Tensor), 3, false)));
  EXPECT_TRUE(sound<format::Sites>(payload_of_rows(1, sizeof(format::Site), 1, true)));
  EXPECT_FALSE(sound<format::Sites>(payload_of_rows(1, sizeof(format::Site), 1, false)));
}

TEST(ChunkRoot, SoDoNumbersOfEightBytes) {
  EXPECT_TRUE(sound<format::TensorRows>(payload_of_rows(1, sizeof(int64_t), 3, true)));
  EXPECT_FALSE(sound<format::TensorRows>(payload_of_rows(1, sizeof(int64_t), 3, false)));
}

TEST(ChunkRoot, RowsOfFourBytesBeginAtMultiplesOfFour) {
  EXPECT_TRUE(sound<format::Codes>(payload_of_rows(0, sizeof(format::Code), 3, true)));
  EXPECT_TRUE(sound<format::Codes>(payload_of_rows(0, sizeof(format::Code), 3, false)));
}

TEST(ChunkRoot, AVectorWithoutRowsMayBeginAnywhere) {
  EXPECT_TRUE(sound<format::TensorRows>(payload_of_rows(0, sizeof(format::Tensor), 0, false)));
}

TEST(ChunkRoot, TablesBelowTheRootAreLookedAtToo) {
  flatbuffers::FlatBufferBuilder builder;
  const auto numbers = builder.CreateVector(std::vector<double>{0, 0.5, 1});
  const auto series = format::CreateValueSeries(builder, 7, builder.CreateString("quantiles"), numbers);
  const auto all = builder.CreateVector(std::vector{series});
  const std::string payload = finished(builder, format::CreateValueBatch(builder, 0, 0, 0, all));
  EXPECT_TRUE(sound<format::ValueBatch>(payload));
  EXPECT_FALSE(sound<format::ValueBatch>(payload, 4));
}

TEST(ChunkRoot, ADumpWithSuchAChunkSaysSoAndGivesTheRest) {
  testing::DumpBuilder builder;
  builder.thread(4242, "python");
  std::vector<Chunk> chunks = builder.chunks();
  chunks.push_back({format::kAllocations, payload_of_rows(0, sizeof(format::Allocation), 2, false)});
  const std::string bytes = testing::DumpBuilder::frame(chunks);
  const Dump dump = read_dump_bytes(bytes.data(), bytes.size(), "x.tscope");
  EXPECT_EQ(dump.allocations.size(), 0U);
  EXPECT_EQ(dump.threads.size(), 2U);  // the first stands for none
  EXPECT_THAT(dump.problems,
              ::testing::Contains(::testing::MatchesRegex(
                  "the 'allocations' chunk at byte [0-9,]+ of x\\.tscope is malformed; it was skipped\\.")));
}

}  // namespace
}  // namespace tensorscope::analyzer
