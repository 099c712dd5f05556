// SPDX-License-Identifier: Apache-2.0
// CPython 3.15: the offsets come from _Py_DebugOffsets at the head of _PyRuntime
// (Include/internal/pycore_debug_offsets.h of 3.15.2, where err_stackitem stands before interpreter_frame).
#include "stacks/python/python_debug_offsets.h"

namespace tensorscope::stacks {

bool read_cpython315(const void* runtime, uint64_t version, PythonLayout& layout) {
  return read_debug_offsets({.interpreter_state_words = 16,
                             .thread_state_words = 16,
                             .words_before_frame = 1,
                             .interpreter_frame_words = 8,
                             .code_object_words = 11,
                             .values_end = ValuesEnd::pointer,
                             .type_shared_keys = 888},
                            runtime, version, layout);
}

}  // namespace tensorscope::stacks
