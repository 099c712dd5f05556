// SPDX-License-Identifier: Apache-2.0
// One chunk of a dump: a FlatBuffer that is finished and appended to the file.
//
// Context: collector. It allocates.
#pragma once

#include <string.h>

#include "dump/chunk_sink.h"
#include "dump_generated.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::dump {

class Chunk {
 public:
  explicit Chunk(uint32_t type, size_t expected_bytes = 4096) : builder_(expected_bytes), type_(type) {}

  flatbuffers::FlatBufferBuilder& builder() { return builder_; }
  flatbuffers::Offset<flatbuffers::String> string(const char* text) { return string(text, strlen(text)); }
  flatbuffers::Offset<flatbuffers::String> string(const char* text, size_t length) {
    return is_utf8(text, length) ? builder_.CreateString(text, length) : builder_.CreateString(as_utf8(text, length));
  }
  flatbuffers::Offset<flatbuffers::String> string(const std::string& text) { return string(text.c_str()); }

  template <typename Table>
  bool append_to(ChunkSink& file, flatbuffers::Offset<Table> root) {
    builder_.FinishSizePrefixed(root);
    return file.append(type_, builder_.GetBufferPointer(), builder_.GetSize());
  }

  // Strings of a dump are UTF-8, as other languages' readers insist; paths and command lines are just bytes. Bytes that
  // are not UTF-8 become U+FFFD.
  static bool is_utf8(const char* text, size_t length);
  static std::string as_utf8(const char* text, size_t length);

 private:
  flatbuffers::FlatBufferBuilder builder_;
  uint32_t type_;
};

}  // namespace tensorscope::dump
