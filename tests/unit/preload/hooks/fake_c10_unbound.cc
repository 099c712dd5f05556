// SPDX-License-Identifier: Apache-2.0
// Stands for a libc10.so with a slot that is never bound: a hooked name that nothing in the process defines.
#include "fake_torch.h"

FAKE_C10_HOOKS(FAKE)

Call g_last_call = {};
Word g_failing_argument = ~Word{0};

extern Word (*const g_virtual_functions[])(Word, Word, Word, Word, Word, Word);
Word (*const g_virtual_functions[])(Word, Word, Word, Word, Word, Word) = {call_tensor_destroyed_d0};
extern "C" Word fake_never_bound() { return call_memory_reported_old(0, 1, 0, 0, 0, 0); }
