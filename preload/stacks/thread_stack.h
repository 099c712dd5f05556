// SPDX-License-Identifier: Apache-2.0
// What the unwinder keeps for one thread: where its stack is, and the frames that it has met there.
//
// Context: hook. Made at a thread's first capture (one mmap; glibc's pthread_getattr_np for other threads than the main
// one, which may allocate), given back when the thread ends. Owned by its thread: no locks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/activation.h"
#include "stacks/native/frame_cache.h"
#include "stacks/native/remembered_walks.h"
#include "stacks/remembered_captures.h"

namespace tensorscope::stacks {

struct ThreadStack {
  static constexpr int kMaxFrames = 1024;  // deeper stacks lose their outer end
  static constexpr int kMaxOwnFrames = 32;

  uint64_t low, high;   // [low, high); equal where not known: nothing is read then
  uint32_t generation;  // of the rules that the cache was filled by
  uint32_t captures;
  uint32_t compare_at;  // the next capture at which no record is trusted
  bool learnt;          // a rule was read or guessed during this capture

  // The present capture, innermost first: a record of the cache, or kFresh and then fresh[i].
  static constexpr uint32_t kFresh = ~uint32_t{0};
  uint32_t path[kMaxFrames];
  struct FreshFrame {
    FrameState state;
    uint8_t bp_words;  // 0: RBP is the caller's
    bool from_bp, realigned, guessed;
  } fresh[kMaxFrames];

  FrameCache cache;

  // Of an activation of the interpreter that has nothing but the interpreter around it: the record of the caller of its
  // evaluation function, and the record's tag, which stands for the stack from there outwards.
  struct Outer {
    Activation activation;
    uint32_t record, tag;
  };
  static constexpr size_t kOuters = 64;
  Outer outers[kOuters];
  Outer& outer_of(const Activation& activation) {
    return outers[(spread_bits(reinterpret_cast<uint64_t>(activation.frame) ^ activation.caller) >> 32) % kOuters];
  }

  RememberedWalks walks;
  RememberedCaptures captured;

  void forget_frames() {
    cache.clear();
    walks.clear();
    for (Outer& outer : outers) outer = {};
  }

  void* addresses[kMaxFrames + kMaxOwnFrames];  // libunwind's answer

  uint32_t depth_words(uint64_t sp) const { return uint32_t((high - sp) / 8); }
  bool holds(uint64_t address) const { return address - low < high - low; }
  bool holds_words(uint64_t address, uint64_t words) const { return holds(address) && high - address >= 8 * words; }

  // Context: activation. False: no thread-specific data to be had.
  static bool start();
  // Of the calling thread; null: it has none yet.
  static ThreadStack* known() { return t_stack; }
  // The same; null: no memory.
  static ThreadStack* current() {
    ThreadStack* stack = t_stack;
    return __builtin_expect(stack != nullptr, true) ? stack : create();
  }

 private:
  [[gnu::noinline]] static ThreadStack* create();
  static void destroy(void* stack);
  static thread_local ThreadStack* t_stack;
};

}  // namespace tensorscope::stacks
