// SPDX-License-Identifier: Apache-2.0
// The frames of a stack at the addresses where they lay before: compared with the thread's present chain without
// following it.
//
// Why it cannot read wild: a frame is read once the one before it, or the thread state, was seen to lead to it; the
// first local variable of a call once all frames were seen to be as they were. Until then the processor reads ahead
// from the known addresses, which a walk that learns each address from the frame before cannot do.
//
// Context: hook.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "stacks/python/python_layout.h"
#include "stacks/python/python_walk.h"

namespace tensorscope::stacks {

using FramePlace = uint64_t;

// `innermost`: innermost_frame(). Writes the addresses of all frames, shims among them, and returns their number; 0:
// there are more than `limit`.
size_t list_frames(const PythonLayout& layout, const char* innermost, FramePlace* places, size_t limit);

// Of the calls among these frames, two words each: the address of the first local variable, odd where it is in a cell,
// and what it is. Returns the number of words; more than `limit`: they are not all there.
size_t list_calls(const PythonLayout& layout, const ModuleCalls& calls, const FramePlace* places, size_t count,
                  FramePlace* words, size_t limit);

// Code, position and entry of every frame in one number, which is not that of hash_frames(). 0: the frames of the chain
// lie elsewhere. The address of an instruction lies in its code object, so it identifies the code too. Of frame objects
// the position is f_lasti and, behind it, f_lineno, which only a tracer changes.
template <FrameStyle style>
[[gnu::always_inline]] inline uint64_t hash_placed(const PythonLayout& layout, const char* innermost,
                                                   const FramePlace* places, size_t count, uint64_t seed) {
  const size_t previous = layout.frame_previous, code = layout.frame_code, instruction = layout.frame_instruction,
               owner = layout.frame_owner;
  uint64_t hash = seed;
  const char* frame = innermost;
  for (const FramePlace* const end = places + count; places != end; ++places) {
    if (__builtin_expect(reinterpret_cast<FramePlace>(frame) != *places, false)) return 0;
    uint64_t position = read_field<uint64_t>(frame, instruction);
    if constexpr (style == FrameStyle::entry_flag) position |= read_field<uint8_t>(frame, owner);
    hash = style == FrameStyle::objects ? hash_with_frame(hash, read_field<uint64_t>(frame, code), position)
                                        : (std::rotl(hash, 25) ^ position) * kGoldenRatio;
    frame = read_field<const char*>(frame, previous);
  }
  return frame == nullptr ? hash : 0;
}

[[gnu::always_inline]] inline uint64_t hash_placed_frames(const PythonLayout& layout, const char* innermost,
                                                          const FramePlace* places, size_t count, uint64_t seed) {
  switch (layout.style) {
    case FrameStyle::objects:
      return hash_placed<FrameStyle::objects>(layout, innermost, places, count, seed);
    case FrameStyle::entry_flag:
      return hash_placed<FrameStyle::entry_flag>(layout, innermost, places, count, seed);
    case FrameStyle::shims:
      return hash_placed<FrameStyle::shims>(layout, innermost, places, count, seed);
  }
  return 0;
}

// What list_calls() wrote.
inline bool calls_are_as_placed(const FramePlace* words, size_t count) {
  for (const FramePlace* const end = words + count; words != end; words += 2) {
    uint64_t local = read_field<uint64_t>(reinterpret_cast<const char*>(words[0] & ~uint64_t{1}), 0) & ~kReferenceTags;
    if ((words[0] & 1) != 0 && local != 0)
      local = read_field<uint64_t>(reinterpret_cast<const char*>(local), kCellContentOffset);
    if (local != words[1]) return false;
  }
  return true;
}

}  // namespace tensorscope::stacks
