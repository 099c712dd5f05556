// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/chunk_table.h"

#include <gtest/gtest.h>

#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {
namespace {

// A chunk that is written and not decoded would be left out of every answer without a word.
TEST(ChunkTable, DecodesEveryTypeOfTheFormat) {
  for (const format::ChunkKind& kind : format::kChunkKinds) EXPECT_TRUE(is_decoded(kind.type)) << kind.name;
}

TEST(ChunkTable, LeavesATypeOfALaterVersionOut) {
  Dump dump;
  Decoding state(dump, "x.tscope");
  const ChunkView chunk{format::chunk_type("NEXT"), nullptr, 0, 24, 0};
  EXPECT_FALSE(is_decoded(chunk.type));
  decode_chunk(chunk, state);
  EXPECT_TRUE(dump.problems.empty());
  EXPECT_TRUE(state.seen.empty());
}

}  // namespace
}  // namespace tensorscope::analyzer
