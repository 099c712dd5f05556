// SPDX-License-Identifier: Apache-2.0
// Stands for libc10.so.
#include "fake_torch.h"

Call g_last_call = {};
Word g_failing_argument = ~Word{0};

FAKE_C10_HOOKS(FAKE)

// As a class does that is deleted through its table of virtual functions: the profiler insists that this slot is its
// own.
extern Word (*const g_virtual_functions[])(Word, Word, Word, Word, Word, Word);
Word (*const g_virtual_functions[])(Word, Word, Word, Word, Word, Word) = {call_tensor_destroyed_d0};
