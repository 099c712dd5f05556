// Walks the chunks of a dump file: framing, lengths, checksums, padding. Does not interpret their contents.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dump/byte_source.h"

namespace tensorscope::model {

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

// Calls `take` for each sound chunk in file order until it returns false (the end chunk). A damaged chunk is left out
// and walking goes on behind it, as far as its header makes sense; two in a row end it. Throws BadInput where the file
// header is not that of a dump this program can read. Returns what was wrong, one sentence each.
std::vector<std::string> walk_chunks(const ByteSource& source, const std::string& name,
                                     const std::function<bool(const ChunkView&)>& take);

}  // namespace tensorscope::model
