// SPDX-License-Identifier: Apache-2.0
// Walks the calling thread's stack by remembered frames where they are still there, by cached unwind rules elsewhere.
//
// Why a remembered caller is exact: a frame's caller is a function of the frame's (ip, sp, bp), of the rule of ip, and
// of the words at the places that the rule names: the return address and, where the frame has saved it, RBP. A record
// is found by (ip, sp), and RBP only enters where a CFA is relative to it, in this frame or further out. At every
// capture, for every frame out to the last, the return address is compared with the recorded one; and wherever an outer
// CFA depends on RBP, RBP is carried out to it as the stack has it and compared there. By induction from the innermost
// frame, whose registers are read directly, the walk is the one that the rules alone would make. A rule belongs to
// loaded code, which cannot change while a frame runs in it; what happens when a library is unloaded and another takes
// its place: native_stack.cc. Where the caller of walk_frames() knows better, the walk ends at a trusted record.
//
// Why it cannot read wild: a word is read only between the walk's own stack pointer and the end of the thread's stack
// (from pthread_getattr_np), at addresses that grow from frame to frame. A walk that would leave the range, or meets an
// odd rule, gives up. Stacks elsewhere (makecontext, alternate signal stacks) are left to libunwind; greenlets share
// the thread's stack, and what they have swapped is seen in the words.
//
// Context: hook. Owned by its thread.
#pragma once

#include "stacks/native/interpreter_code.h"
#include "stacks/native/native_trie.h"
#include "stacks/native/rule_table.h"
#include "stacks/thread_stack.h"

namespace tensorscope::stacks {

struct Walk {
  enum End : uint8_t { complete, cut, gave_up } end = gave_up;
  int frames = 0;          // of stack.path
  int changed_frames = 0;  // this many of the innermost differ from what the cache knows: give_nodes
  bool trusted = false;    // the last frame of the path is the trusted record
};

// From `innermost` outwards. `trusted`: a record from which outwards the stack is as the record says; 0: none.
Walk walk_frames(ThreadStack& stack, RuleTable& rules, FrameState innermost, uint32_t trusted = 0);

// After a complete walk that changed something: brings the cache up to date. Then every path element is a record with
// its node, 0 where the trie is full. False: the cache was full; it is empty now, walk again. `interpreter`: null where
// its code is not known.
bool give_nodes(ThreadStack& stack, const Walk& walk, NativeTrie& trie, const InterpreterCode* interpreter = nullptr);

// Whether a frame of the path has no unwind table, so that the frames further out are a guess.
bool is_guessed(ThreadStack& stack, const Walk& walk);

// Return address of frame `index` of the path.
uint64_t path_address(ThreadStack& stack, int index);

}  // namespace tensorscope::stacks
