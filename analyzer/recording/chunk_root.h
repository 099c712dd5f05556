// The root table of a chunk of a recording.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include "dump/chunk_reader.h"

namespace tensorscope::analyzer {

// Null: the payload is no such table.
template <typename Root>
const Root* chunk_root(const ChunkView& chunk) {
  constexpr int kMostDepth = 64;
  constexpr int kMostTables = 1 << 30;
  flatbuffers::Verifier verifier(chunk.payload, chunk.length, kMostDepth, kMostTables);
  return verifier.VerifySizePrefixedBuffer<Root>(nullptr) ? flatbuffers::GetSizePrefixedRoot<Root>(chunk.payload)
                                                          : nullptr;
}

}  // namespace tensorscope::analyzer
