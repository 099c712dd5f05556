// What the unwinder keeps for one thread: where its stack is, and the frames of its last capture.
//
// Context: hook. Made at a thread's first capture (one mmap; glibc's pthread_getattr_np, which for the main thread
// reads /proc/self/maps, may allocate), given back when the thread ends. Owned by its thread: no locks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "live/ids.h"

namespace tensorscope::stacks {

// The registers of a frame as they are right after the call it made has returned.
struct FrameState {
  uint64_t ip = 0;  // the return address
  uint64_t sp = 0;  // the callee's CFA
  uint64_t bp = 0;
};

struct Frame {
  FrameState state;
  uint32_t bp_words = 0;  // `bp` was read from [sp - 8 * bp_words]; 0: the callee had left it alone
  StackId node = 0;
};

struct ThreadStack {
  static constexpr int kMaxFrames = 1024;  // deeper stacks lose their outer end
  static constexpr int kMaxOwnFrames = 32;

  uint64_t low = 0, high = 0;  // [low, high); equal where not known: nothing is read then
  uint32_t captures = 0;
  bool learnt = false;  // a rule was read during this capture
  int remembered = 0;
  Frame frames[kMaxFrames];                     // the last capture, outermost first
  Frame fresh[kMaxFrames];                      // the present one until it meets the last, innermost first
  void* addresses[kMaxFrames + kMaxOwnFrames];  // libunwind's answer

  bool holds(uint64_t address) const { return address - low < high - low; }

  // Context: activation. False: no thread-specific data to be had.
  static bool start();
  // Of the calling thread; null: no memory.
  static ThreadStack* current() {
    ThreadStack* stack = t_stack;
    return __builtin_expect(stack != nullptr, true) ? stack : create();
  }

 private:
  static ThreadStack* create();
  static void destroy(void* stack);
  static thread_local ThreadStack* t_stack;
};

}  // namespace tensorscope::stacks
