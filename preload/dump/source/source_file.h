// SPDX-License-Identifier: Apache-2.0
// Reads chosen lines of one source file, in one pass and in bounded memory. A path comes from the program's own code
// objects, but may name anything: only a regular file is opened, and it is closed before the function returns.
//
// Context: the thread of source_reader.h. No malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::dump {

enum class SourceState : uint8_t { read, changed, unreadable, too_large, left_out };  // = format::SourceState

struct SourceLine {
  uint32_t number;  // from 1
  uint32_t length;  // of its text without the blanks around it, in bytes; 0: blank, or the file has no such line
  const char* text;
};

struct SourceFile {
  const char* path;
  SourceLine* lines;  // ascending
  uint32_t count;
  SourceState state;
  uint64_t size;  // bytes, and the XXH3-64 of all of them; of a file that was read
  uint64_t hash;
};

// What all files of one dump share.
struct SourceLimits {
  uint64_t newest_unix_ns;  // files written later may not be what runs
  uint64_t bytes_left;      // to read
  char* texts;              // room for the lines' texts
  size_t texts_left;
  bool texts_full;  // some text found no room
};

constexpr uint64_t kMaxSourceBytes = uint64_t{4} << 20;  // of one file

// Fills in state, size, hash and the lines' texts.
void read_source_file(SourceFile& file, SourceLimits& limits);

}  // namespace tensorscope::dump
