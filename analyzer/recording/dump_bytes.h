// SPDX-License-Identifier: Apache-2.0
// The bytes of a dump that is made in memory: its header, chunks as they are added, its end.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dump_generated.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::analyzer {

class DumpBytes {
 public:
  DumpBytes() {
    format::FileHeader header{};
    std::copy_n(format::kMagic, sizeof header.magic, header.magic);
    header.major = format::kFormatMajor;
    header.minor = format::kFormatMinor;
    header.checksum = format::header_checksum(header);
    put(&header, sizeof header);
  }

  template <typename Table>
  void add(uint32_t type, flatbuffers::FlatBufferBuilder& builder, flatbuffers::Offset<Table> root) {
    builder.FinishSizePrefixed(root);
    add(type, builder.GetBufferPointer(), builder.GetSize());
  }
  void add(uint32_t type, const void* payload, size_t length) {
    format::ChunkHeader header = {type, 0, length, 0};
    header.checksum = format::chunk_checksum(header, payload);
    put(&header, sizeof header);
    put(payload, length);
    bytes_.resize(bytes_.size() + format::padding(length));
    ++chunks_;
  }
  // Rows in as many chunks as they need, one at the least; `create(builder, rows, first)` makes a chunk's table.
  template <typename Row, typename Create>
  void add_rows(uint32_t type, const std::vector<Row>& rows, Create create) {
    size_t first = 0;
    do {
      flatbuffers::FlatBufferBuilder builder;
      const size_t count = std::min<size_t>(format::kMaxRowsPerChunk, rows.size() - first);
      const auto values = builder.CreateVectorOfStructs(rows.data() + first, count);
      add(type, builder, create(builder, values, uint32_t(first)));
      first += count;
    } while (first < rows.size());
  }
  void finish() {
    flatbuffers::FlatBufferBuilder builder;
    add(format::kEnd, builder, format::CreateEndMark(builder, chunks_, bytes_.size()));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void put(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  std::string bytes_;
  uint32_t chunks_ = 0;
};

}  // namespace tensorscope::analyzer
