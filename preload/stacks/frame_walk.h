// Walks the calling thread's stack by cached unwind rules, and stops where the rest is the last capture's.
//
// Why stopping early is exact: the walk from a frame is a function of its (ip, sp, bp), of the rules of the addresses
// it meets and of the words it reads, which are the return-address slot and, where the rule says so, the saved-RBP slot
// of each frame. The walk met a remembered frame with the same (ip, sp, bp); so its next frame is the remembered one if
// those slots still hold the remembered words, and so on by induction to the outermost. All of them are compared at
// every capture. A rule belongs to loaded code, which cannot change while a frame runs in it.
//
// Why it cannot read wild: a word is read only between the walk's own stack pointer and the end of the thread's stack
// (from pthread_getattr_np), at addresses that grow from frame to frame; remembered frames lie in the same range and
// are looked at only above the present stack pointer. A walk that leaves the range, or meets an odd rule, gives up.
// Stacks elsewhere (makecontext, alternate signal stacks) are left to libunwind; greenlets share the thread's stack,
// and what they have swapped is seen in the words.
//
// Context: hook. Owned by its thread.
#pragma once

#include "stacks/rule_table.h"
#include "stacks/thread_stack.h"

namespace tensorscope::stacks {

struct Walk {
  enum End : uint8_t { complete, cut, gave_up } end = gave_up;
  int shared = 0;       // frames[0, shared) of the last capture are this one's too
  int fresh_count = 0;  // then fresh[fresh_count - 1] ... fresh[0]
};

// From `innermost` outwards. Reads the stack and `rules` (and adds to them); changes `stack.fresh`, `stack.learnt` and
// how frames[shared - 1] got its RBP.
Walk walk_frames(ThreadStack& stack, RuleTable& rules, FrameState innermost);

}  // namespace tensorscope::stacks
