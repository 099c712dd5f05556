// SPDX-License-Identifier: Apache-2.0
// Native stacks: libunwind opened privately, an unwinder that remembers one rule per instruction address and stops
// where the stack is word for word the one of the thread's last capture, and the trie of return addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/activation.h"
#include "stacks/native/interpreter_code.h"
#include "stacks/native/native_frame.h"
#include "support/ids.h"

namespace tensorscope::stacks {

struct ThreadStack;

// The frame of the hook that the program called, this library's outermost, by __builtin_frame_address(0); null: it is
// looked for.
using HookFrame = const void*;

// Context: activation. Opens libunwind (libunwind_loader.h).
void start_native();

// Context: hook. 0 when native stacks are off. This library's frames are left out; where `until` is not null, so are
// all frames inner to the one that will continue at that address. `activation`: the thread's present one.
StackId capture_native(const void* until, const Activation& activation = kNoActivation);

// Whether the calling thread's stack is the remembered walk of this number (remembered_walks.h), of which `stack` was
// said. False also at the captures that compare every frame. Context: hook.
bool native_is_at(ThreadStack& thread, uint32_t walk, StackId stack, HookFrame hook);

// Context: hook, once. From now on frames of the interpreter that lie around an activation, with nothing of anybody
// else between them and the thread's beginning, are compared only at every kVerifyEvery-th capture. Between one
// instruction of Python and the function that it calls there are interpreter's frames alone, so another path of equal
// depth through the interpreter would be missed, which no report shows; where the comparison finds one, every frame is
// compared from then on.
void native_trusts(const InterpreterCode& interpreter);
inline constexpr uint32_t kVerifyEvery = 251;

// Context: collector. Frames of the trie so far: ids 0 .. native_frame_count()-1 (0 is the sentinel).
size_t native_frame_count();
NativeFrame native_frame(StackId id);

// How the captures so far were made, for the log and for tests. Any context.
struct NativeCounts {
  uint64_t by_libunwind;    // captures left to libunwind
  uint64_t checked;         // captures by rules that were compared with libunwind's
  uint64_t disagreed;       // of those, the ones that were not equal
  uint64_t outer_differed;  // activations whose outer frames were not the expected ones
  bool by_rules;            // false: no rules on this machine, or switched off after a disagreement
};
NativeCounts native_counts();

// Context: collector. Forgets the unwind rules where a library has been unloaded since the last call.
void native_forget_unloaded();

// Context: fork child.
void native_after_fork_in_child();

}  // namespace tensorscope::stacks
