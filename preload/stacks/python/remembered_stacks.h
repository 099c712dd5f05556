// SPDX-License-Identifier: Apache-2.0
// Python stacks that a thread has had before, by a hash of all their frames.
//
// A loop has its stacks in the same order again, with their frames at the same addresses. So the stack that came next
// the last time is compared first, at the addresses where its frames lay: the processor reads them side by side, where
// a walk waits for each frame to tell where the next one is. Stacks whose frames hash alike would be taken for one
// another: one pair in 2^64.
//
// Context: hook; owned by its thread, no locks. Zeroed memory has no stacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/activation.h"
#include "stacks/python/placed_frames.h"
#include "stacks/python/python_walk.h"
#include "stacks/remembered_captures.h"
#include "support/ids.h"

namespace tensorscope::stacks {

class RememberedStacks {
 public:
  struct alignas(64) Stack {
    uint64_t hash;         // hash_frames(), which begins with the generation of the code objects
    uint64_t placed_hash;  // hash_placed_frames(), which begins with it, too
    uint64_t position;     // of the innermost frame, as it has it
    Activation activation;
    StackId node;   // 0: the entry is free
    uint32_t next;  // number of the one that was found after this one the last time
    uint32_t places;
    uint16_t frames;  // at `places`; 0: where they lie is not known
    uint8_t calls;    // words of list_calls(), after the frames
    uint8_t strayed;  // times that it was found, but not as the next one at its places

    bool is(const HashedFrames& found) const { return hash == found.hash && node != 0; }
  };

  // The thread's stack now, as it was walked.
  struct Present {
    const HashedFrames& frames;
    const PythonLayout& layout;
    const char* innermost;  // innermost_frame()
    uint64_t generation;
    const ModuleCalls& calls;
  };

  // The last stack once more or, where its innermost frame has moved on, the one that came next the last time: if it is
  // the present one and lies where it did. Else null.
  const Stack* find_next(const PythonLayout& layout, const char* innermost, uint64_t generation) {
    if (__builtin_expect(innermost == nullptr, false)) return nullptr;
    const uint32_t at = position(layout, innermost) == stacks_[last_].position ? last_ : stacks_[last_].next;
    const Stack& stack = stacks_[at];
    if (__builtin_expect(!lies_there(stack, layout, innermost, generation), false)) return nullptr;
    last_ = at;
    prefetch(stack.next);
    return &stack;
  }
  // Whether the thread's stack is the one of this number, for which `node` was returned, and lies where it did. Then it
  // is the last one.
  bool is_at(uint32_t number, StackId node, const PythonLayout& layout, const char* innermost, uint64_t generation) {
    const Stack& stack = stacks_[number];
    if (__builtin_expect(innermost == nullptr || stack.node != node, false)) return false;
    if (__builtin_expect(position(layout, innermost) != stack.position, false)) return false;
    if (__builtin_expect(!lies_there(stack, layout, innermost, generation), false)) return false;
    last_ = number;
    return true;
  }
  // Of the last one; kNoNumber: it does not stand for `node`.
  uint32_t last(StackId node) const { return stacks_[last_].node == node ? last_ : kNoNumber; }
  const Stack& operator[](uint32_t number) const { return stacks_[number]; }
  // What runs until the next capture pushes it out of the nearer caches.
  void prefetch(uint32_t number) const {
    const FramePlace* const places = &places_[stacks_[number].places];
    __builtin_prefetch(places);
    __builtin_prefetch(places + 8);
  }
  // Any; null: not known.
  const Stack* find(const Present& present);
  void add(const Present& present, StackId node, StackId caller);

 private:
  static_assert(sizeof(Stack) == 64);
  static constexpr size_t kSets = 256, kWays = 4;
  static constexpr size_t kPlaces = 32768;                    // once they are used up, all stacks are placed anew
  static constexpr size_t kMaxFrames = 512, kMaxCalls = 128;  // of a stack whose places are kept
  static constexpr unsigned kStrayedOften = 4;

  [[gnu::always_inline]] bool lies_there(const Stack& stack, const PythonLayout& layout, const char* innermost,
                                         uint64_t generation) const {
    if (stack.frames == 0) return false;
    const FramePlace* const places = &places_[stack.places];
    return hash_placed_frames(layout, innermost, places, stack.frames, generation) == stack.placed_hash &&
           calls_are_as_placed(places + stack.frames, stack.calls);
  }
  static uint64_t position(const PythonLayout& layout, const char* frame) {
    return read_field<uint64_t>(frame, layout.frame_instruction);
  }
  void place(Stack& stack, const Present& present);
  // The one that was found or added comes after the last one.
  void follow(uint32_t at) {
    if (at != last_) stacks_[last_].next = at;
    last_ = at;
  }

  Stack stacks_[kSets * kWays];
  uint32_t added_;
  uint32_t last_;  // number of the one that was found last
  uint32_t used_;  // of places_
  FramePlace places_[kPlaces];
};

}  // namespace tensorscope::stacks
