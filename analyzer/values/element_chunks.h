// SPDX-License-Identifier: Apache-2.0
// The chunks of a values file that hold elements. Nothing of them is read when the file is opened: a chunk's checksum
// is compared when its elements are first read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dump/byte_source.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::values {

struct ChunkPlace {
  uint64_t offset = 0;  // of its header
  format::ChunkHeader header{};
  uint64_t payload() const { return offset + sizeof(format::ChunkHeader); }
};

class ElementChunks {
 public:
  void add(const ChunkPlace& place) { chunks_.push_back({place}); }
  size_t size() const { return chunks_.size(); }

  // Bytes among all the elements of some chunks.
  struct Range {
    size_t first_chunk = 0, end_chunk = 0;  // the chunk behind the last one
    uint64_t begin = 0, size = 0;
  };
  // Returns fewer bytes where the chunks have fewer. Throws analyzer::BadInput where a chunk is damaged; `name` is the
  // file's.
  std::string read(const analyzer::ByteSource& source, const std::string& name, const Range& range);

 private:
  struct Chunk {
    ChunkPlace place;
    bool checked = false;
    uint64_t begin = 0, size = 0;  // of the elements in the file, once checked
  };
  void check(const analyzer::ByteSource& source, const std::string& name, Chunk& chunk) const;

  std::vector<Chunk> chunks_;
};

}  // namespace tensorscope::values
