// Reads the calling thread's chain of Python frames as it lies in memory: no reference counts, no GIL. The thread is
// inside C code, so nobody moves its chain.
//
// Context: hook.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

// One frame, innermost first. Two frames with equal `code` and `position` are at the same place of the same code
// object.
struct RawFrame {
  const char* frame;
  const char* code;
  uint64_t position;  // bit 0: entry (see PythonFrame); the rest: the instruction's address, or its byte offset times 2

  bool entry() const { return (position & 1) != 0; }
  // Byte offset of the instruction in the bytecode; negative: the frame has not begun.
  int32_t offset(const PythonLayout& layout) const;
};

// Fills `frames` and returns their number; `more`: there are further frames beyond `limit`.
size_t walk_frames(const PythonLayout& layout, const char* thread_state, RawFrame* frames, size_t limit, bool& more);

// The first local variable of a frame: its value without tags, looked up in its cell where it is one, null where it has
// none.
const void* first_local(const PythonLayout& layout, const char* frame, const void* cell_type);

}  // namespace tensorscope::stacks
