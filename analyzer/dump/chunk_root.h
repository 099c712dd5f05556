// SPDX-License-Identifier: Apache-2.0
// The root table of a chunk, once FlatBuffers' verifier has passed it and each vector begins where its elements may.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <string>

#include "dump/chunk_reader.h"

namespace tensorscope::analyzer {

// Of a table that was verified: whether in each vector below it the elements begin at a multiple of what their type
// wants. The verifier looks at the vectors' lengths, which have 4 bytes, and not at what follows these.
bool elements_are_aligned(const flatbuffers::Table& table, const flatbuffers::TypeTable& type);

// "the 'tensors' chunk at byte 4,096 of x.tscope is malformed; it was skipped."
std::string malformed_chunk(const ChunkView& chunk, const std::string& file);

// Null: the payload is no such table.
template <typename Root>
const Root* chunk_root(const uint8_t* payload, size_t length) {
  if (length >= FLATBUFFERS_MAX_BUFFER_SIZE) return nullptr;
  flatbuffers::Verifier verifier(payload, length);
  if (!verifier.VerifySizePrefixedBuffer<Root>(nullptr)) return nullptr;
  const Root* root = flatbuffers::GetSizePrefixedRoot<Root>(payload);
  return elements_are_aligned(*reinterpret_cast<const flatbuffers::Table*>(root), *Root::MiniReflectTypeTable())
             ? root
             : nullptr;
}

template <typename Root>
const Root* chunk_root(const ChunkView& chunk) {
  return chunk_root<Root>(chunk.payload, chunk.length);
}

}  // namespace tensorscope::analyzer
