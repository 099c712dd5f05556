// SPDX-License-Identifier: Apache-2.0
// _Py_DebugOffsets: the table by which CPython 3.13 and later tell debuggers where their fields are. Its sections are
// fixed runs of 64-bit words whose lengths differ between series; a section's fields mostly grow at its end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/python/python_layout.h"

namespace tensorscope::stacks {

struct DebugOffsetsShape {
  size_t interpreter_state_words;
  size_t thread_state_words;
  size_t words_before_frame;  // between thread_state and interpreter_frame
  size_t interpreter_frame_words;
  size_t code_object_words;
  ValuesEnd values_end;  // `pointer`: interpreter_frame says where
  uint16_t type_shared_keys;
};

// Context: activation or collector. False: no cookie, another version, or a free-threaded build.
bool read_debug_offsets(const DebugOffsetsShape& shape, const void* runtime, uint64_t version, PythonLayout& layout);

}  // namespace tensorscope::stacks
