// SPDX-License-Identifier: Apache-2.0
// Reads the calling thread's chain of Python frames as it lies in memory: no reference counts, no GIL. The thread is
// inside C code, so nobody moves its chain.
//
// Context: hook.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "stacks/python/python_layout.h"
#include "support/spread_bits.h"

namespace tensorscope::stacks {

// One frame, innermost first. Two frames with equal `code` and `position` are at the same place of the same code
// object.
struct RawFrame {
  const char* frame;
  const char* code;
  uint64_t position;  // bit 0: entry (see PythonFrame); the rest: the instruction's address, or its byte offset times 2

  bool entry() const { return (position & 1) != 0; }
  // Byte offset of the instruction in the bytecode; negative: the frame has not begun.
  int32_t offset(const PythonLayout& layout) const;
};

// The first frame of the thread's chain, a shim or not; null: it has none.
inline const char* innermost_frame(const PythonLayout& layout, const char* thread_state) {
  const char* const holder = read_field<const char*>(thread_state, layout.thread_frame);
  if (layout.cframe_frame < 0 || holder == nullptr) return holder;
  return read_field<const char*>(holder, size_t(layout.cframe_frame));
}

// A frame more in a hash of frames.
inline uint64_t hash_with_frame(uint64_t hash, uint64_t code, uint64_t position) {
  return (std::rotl(hash, 25) ^ (code + position * 0xa0761d6478bd642f)) * kGoldenRatio;
}

// Fills `frames` and returns their number; `more`: there are further frames beyond `limit`.
size_t walk_frames(const PythonLayout& layout, const char* thread_state, RawFrame* frames, size_t limit, bool& more);

// Code objects of torch's call wrappers: which module they run for is part of a stack.
class ModuleCalls {
 public:
  static constexpr uint32_t kMax = 4;
  const void* cell_type = nullptr;  // `self` may be in a cell

  bool hold(const char* code) const {
    if (__builtin_expect((bits_ >> bit_of(code) & 1) == 0, true)) return false;
    for (uint32_t i = 0; i < count_; ++i) {
      if (codes_[i] == code) return true;
    }
    return false;
  }
  // False: it is not among them, and there are too many.
  bool add(const char* code) {
    if (hold(code)) return true;
    if (count_ == kMax) return false;
    codes_[count_++] = code;
    bits_ |= uint64_t{1} << bit_of(code);
    return true;
  }
  uint32_t count() const { return count_; }

 private:
  static unsigned bit_of(const char* code) { return unsigned(reinterpret_cast<uint64_t>(code) >> 4) & 63; }
  uint64_t bits_ = 0;  // most other addresses differ in these already
  const char* codes_[kMax] = {};
  uint32_t count_ = 0;
};

// All that walk_frames() finds in one number: code, position and entry of every frame, and `self` of the calls. 0
// frames: there are none, or more than `limit`.
struct HashedFrames {
  uint64_t hash;
  size_t depth;
  const char* entry;  // the innermost frame that is an entry
  const char* entry_code;
};
HashedFrames hash_frames(const PythonLayout& layout, const char* thread_state, uint64_t seed, const ModuleCalls& calls,
                         size_t limit);

// The first local variable of a frame: its value without tags, looked up in its cell where it is one, null where it has
// none.
const void* first_local(const PythonLayout& layout, const char* frame, const void* cell_type);

}  // namespace tensorscope::stacks
