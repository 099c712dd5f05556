// SPDX-License-Identifier: Apache-2.0
// What malloc says about itself: allocated bytes, and free bytes that it keeps.
//
// Context: collector, no table lock held. The question itself (mallinfo2) takes each arena's lock and walks the arena's
// free chunks meanwhile, about 0.2 us a chunk. A thread that was killed or left behind by a raw clone may hold such a
// lock for ever, and a heap in many pieces may hold up the program's own malloc. So a short-lived thread calls it,
// nobody waits for it longer than a moment, and a process where it took long once is never asked again.
#pragma once

#include <cstdint>

namespace tensorscope::dump {

struct HeapTotals {  // bytes; all 0: not known
  uint64_t in_use = 0, free = 0;
};

HeapTotals read_heap_totals();

// For tests: what stands in for mallinfo2, null for the real one, and with it the memory of slow answers.
using AskHeap = HeapTotals (*)();
void set_heap_for_test(AskHeap ask);

}  // namespace tensorscope::dump
