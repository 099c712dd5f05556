// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/remembered_stacks.h"

namespace tensorscope::stacks {

const RememberedStacks::Stack* RememberedStacks::find(const Present& present) {
  const auto first = uint32_t(present.frames.hash % kSets * kWays);
  for (uint32_t i = first; i < first + kWays; ++i) {
    Stack& stack = stacks_[i];
    if (!stack.is(present.frames)) continue;
    follow(i);
    if (++stack.strayed % kStrayedOften == 0 &&
        !lies_there(stack, present.layout, present.innermost, present.generation)) {
      place(stack, present);
    }
    return &stack;
  }
  return nullptr;
}

void RememberedStacks::add(const Present& present, StackId node, StackId caller) {
  const auto at = uint32_t(present.frames.hash % kSets * kWays + added_++ % kWays);
  Stack& stack = stacks_[at];
  stack = {};
  stack.hash = present.frames.hash;
  stack.activation = {present.frames.entry, present.frames.entry_code, caller};
  stack.node = node;
  stack.next = at;
  place(stack, present);
  follow(at);
}

void RememberedStacks::place(Stack& stack, const Present& present) {
  if (kPlaces - used_ < kMaxFrames + kMaxCalls) {
    for (Stack& any : stacks_) any.frames = 0;
    used_ = 0;
  }
  stack.places = used_;
  FramePlace* const places = &places_[used_];
  const size_t frames = list_frames(present.layout, present.innermost, places, kMaxFrames);
  const size_t words = list_calls(present.layout, present.calls, places, frames, places + frames, kMaxCalls);
  stack.placed_hash = hash_placed_frames(present.layout, present.innermost, places, frames, present.generation);
  stack.frames = words > kMaxCalls || stack.placed_hash == 0 ? 0 : uint16_t(frames);
  stack.calls = uint8_t(words);
  stack.position = position(present.layout, present.innermost);
  // The activation of the same frames is elsewhere, too.
  stack.activation.frame = present.frames.entry;
  if (stack.frames != 0) used_ += uint32_t(frames + words);
}

}  // namespace tensorscope::stacks
