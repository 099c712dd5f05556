// SPDX-License-Identifier: Apache-2.0
// What the stand-ins for torch's libraries and the tests agree on.
#pragma once

#include <cstdint>

#include "hooks/hook_list.h"

using Word = uintptr_t;

struct Call {
  const char* symbol;
  Word arguments[6];
};
struct Failure {
  Word argument;
};

inline constexpr Word kResult = 0x7ead'beef'1234'5678;

extern Call g_last_call;
extern Word g_failing_argument;  // a stand-in throws Failure where its first argument is this

// The hooks whose real functions the stand-in for libc10 defines: all but the old reports, and
// the failure of the CPU allocator, which makes a dump.
#define FAKE_C10_HOOKS(X)                                                           \
  TENSORSCOPE_TENSOR_CONSTRUCTORS_WITH_STORAGE(X)                                   \
  TENSORSCOPE_OTHER_TENSOR_CONSTRUCTORS(X)                                          \
  TENSORSCOPE_TENSOR_DELETION(X)                                                    \
  TENSORSCOPE_TENSOR_DESTRUCTORS(X)                                                 \
  TENSORSCOPE_TENSOR_RELEASES(X)                                                    \
  TENSORSCOPE_CPU_ALLOCATOR_HOOKS(X)                                                \
  X(memory_reported, _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE, , , , ) \
  X(out_of_memory_reported, _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE, , , , )

// Calls of the hooked names, through the caller's own table of procedures as torch's libraries do it.
#define DECLARE(id, symbol, ...) Word call_##id(Word, Word, Word, Word, Word, Word) __asm__(#symbol);
TENSORSCOPE_HOOKS(DECLARE)
#undef DECLARE

// Defines a stand-in.
#define FAKE(id, symbol, ...)                                      \
  Word call_##id(Word a, Word b, Word c, Word d, Word e, Word f) { \
    g_last_call = {#symbol, {a, b, c, d, e, f}};                   \
    if (a == g_failing_argument) throw Failure{a};                 \
    return kResult;                                                \
  }
