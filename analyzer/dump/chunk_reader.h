// SPDX-License-Identifier: Apache-2.0
// Walks the chunks of a dump file: framing, lengths, checksums, padding. Does not interpret their contents.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dump/byte_source.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {

// The payload of one chunk whose checksum is right, aligned to 8 bytes. Its contents are still not to be trusted.
struct ChunkView {
  uint32_t type;
  const uint8_t* payload;
  size_t length;
  uint64_t offset;  // of its header in the file
  uint32_t chunks_before;
};

// "tensors", "sites"; "unknown (ABCD)" for a type of a later version.
std::string chunk_name(uint32_t type);

// "81,920"
std::string with_commas(uint64_t number);

// What a file says it is in its header: a dump, a values file.
struct FileKind {
  const char* magic;  // 8 characters
  uint32_t major;     // the largest that this program reads
  const char* name;   // "dump"
};

// Throws BadInput where the file does not begin with a sound header of this kind.
void check_file_header(const ByteSource& source, const std::string& name, const FileKind& kind);

// The checksum that a chunk's header should have, by what is in the file from `offset` on.
uint64_t checksum_in_file(const ByteSource& source, uint64_t offset, const format::ChunkHeader& header);

// Calls `take` for each sound chunk in file order until it returns false (the end chunk). A damaged chunk is left out
// and walking goes on behind it, as far as its header makes sense; two in a row end it. Throws BadInput where the file
// header is not that of a dump this program can read. Returns what was wrong, one sentence each.
std::vector<std::string> walk_chunks(const ByteSource& source, const std::string& name,
                                     const std::function<bool(const ChunkView&)>& take);
// The same for another kind of file.
std::vector<std::string> walk_chunks(const ByteSource& source, const std::string& name, const FileKind& kind,
                                     const std::function<bool(const ChunkView&)>& take);

}  // namespace tensorscope::analyzer
