// SPDX-License-Identifier: Apache-2.0
// Which function decodes which chunk. To add a chunk: a line in the table, and the function in the file of its subject.
#pragma once

#include "dump/chunk_reader.h"
#include "dump/decode/decoding.h"

namespace tensorscope::analyzer {

// Returns whether this program knows the chunk's type. Those of later minor versions are left out.
bool is_decoded(uint32_t type);

// Verifies the payload as a FlatBuffer and adds what is in it to the dump. A chunk that is no such table, or the second
// where there may be one, is a problem of the dump.
void decode_chunk(const ChunkView& chunk, Decoding& state);

}  // namespace tensorscope::analyzer
