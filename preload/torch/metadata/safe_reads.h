// SPDX-License-Identifier: Apache-2.0
// Reads pieces of this process's own memory of which nobody knows whether they are still there: many pieces a system
// call, and a piece that is not mapped is one that was not read instead of a fault.
//
// Context: collector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tensorscope::torch {

// The word at `offset` of memory that is known to be readable, aligned or not.
inline uint64_t word_at(const void* memory, size_t offset) {
  uint64_t word;
  memcpy(&word, static_cast<const unsigned char*>(memory) + offset, sizeof(word));
  return word;
}

class SafeReads {
 public:
  void clear();

  // One more piece; its number. Pieces of no or of an impossible size are not read.
  size_t add(uint64_t address, size_t size);

  // Reads all pieces. False: the system does not allow it.
  bool run();

  bool ok(size_t piece) const { return pieces_[piece].ok; }
  size_t size(size_t piece) const { return pieces_[piece].size; }
  // Of a piece that was read.
  const unsigned char* bytes(size_t piece) const { return bytes_.data() + pieces_[piece].at; }
  uint64_t word(size_t piece, size_t offset) const { return word_at(bytes(piece), offset); }

 private:
  struct Piece {
    uint64_t address;
    size_t size;
    size_t at;  // in bytes_
    bool ok;
  };
  std::vector<Piece> pieces_;
  std::vector<unsigned char> bytes_;
  size_t total_ = 0;
};

// Reads the words at `addresses` of this process without faulting where nothing is mapped (any more): such words are 0.
// False: the system does not allow it.
bool read_words_safely(const uint64_t* addresses, uint64_t* words, size_t count);

}  // namespace tensorscope::torch
