// SPDX-License-Identifier: Apache-2.0
// What Python's own allocator says about itself: bytes of arenas, and bytes in objects.
//
// It prints that as text, into a stream. To make or close a stream takes a lock that fflush(NULL) holds while it
// writes, perhaps for long, so that is done without the GIL.
//
// Context: HeapText: collector; ask_heap: heap inspector.
#pragma once

#include <cstdint>
#include <cstdio>

#include "python/gil_thread.h"
#include "python/program_facts.h"

namespace tensorscope::python::heap_inspector {

// The stream, and the text: one at a time in a process, the text in static memory, so that a forked child finds a
// stream that it can flush.
class HeapText {
 public:
  HeapText();
  ~HeapText();
  HeapText(const HeapText&) = delete;
  HeapText& operator=(const HeapText&) = delete;

  FILE* stream() const { return stream_; }  // null: none could be made
  const char* text() const;                 // what was written so far; valid while this lives

 private:
  FILE* stream_ = nullptr;
  bool mine_ = false;
};

// Walks all pools, some 10 ms a gibibyte; not begun where more than half of `hold_ms` has gone.
void ask_heap(const Gil& gil, Deadline deadline, unsigned hold_ms, const HeapText& text, PythonHeap& heap);

// From the text; all 0 where it is not just as expected.
PythonHeap heap_from_text(const char* text);

}  // namespace tensorscope::python::heap_inspector
