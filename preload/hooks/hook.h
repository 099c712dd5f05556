// SPDX-License-Identifier: Apache-2.0
// What a hook is made of: the real function behind it, six integer registers, and the guard.
//
// A hook forwards all six integer argument registers and the returned word, whatever the function's signature: a
// signature that changes under the same name (a return type is not mangled) then still works. No object with a
// destructor is alive while the real function runs: an exception that it throws passes through the hook's frame by its
// unwind table alone.
//
// Context: hook.
#pragma once

#include <atomic>
#include <cstdint>

#include "hooks/activation.h"
#include "hooks/hook_table.h"
#include "support/state.h"

namespace tensorscope {

using Word = uintptr_t;
using RealFunction = Word (*)(Word, Word, Word, Word, Word, Word);

#define HOOK_PARAMETERS Word a, Word b, Word c, Word d, Word e, Word f
#define HOOK_ARGUMENTS a, b, c, d, e, f

// The exported functions. Defined in the file of their subject.
#define X(id, symbol, ...) \
  __attribute__((visibility("default"))) Word hook_##id(Word, Word, Word, Word, Word, Word) __asm__(#symbol);
TENSORSCOPE_HOOKS(X)
#undef X

// Real functions as far as they are known. Kept until the process ends: torch's libraries cannot be unloaded.
extern constinit std::atomic<RealFunction> g_real_functions[kHookCount];

// Looks in the library of the list, then in every other object. A hook is only ever called by an object that was bound
// to it, which without the preload would have been bound to the same definition, so there is one; where there is none
// (an extension built for another torch version) the loader itself would have ended the program, and so does this, with
// the loader's words and its exit status.
RealFunction find_real_function(Hook hook);

inline RealFunction real(Hook hook) {
  const RealFunction function = g_real_functions[size_t(hook)].load(std::memory_order_relaxed);
  return __builtin_expect(function != nullptr, true) ? function : find_real_function(hook);
}

// HookScope that first wakes the profiler at the first event of the process, and counts what comes while another thread
// is still waking it.
class Event : public HookScope {
 public:
  explicit Event(Subject subject) : HookScope(__builtin_expect(is_recording(), true) || wakes(subject)) {}

 private:
  [[gnu::noinline]] static bool wakes(Subject subject) {
    wake(subject);
    return is_recording();
  }
};

}  // namespace tensorscope
