// SPDX-License-Identifier: Apache-2.0
// CPython 3.13: the offsets come from _Py_DebugOffsets at the head of _PyRuntime
// (Include/internal/pycore_runtime.h of 3.13.0).
#include "stacks/python/python_debug_offsets.h"

namespace tensorscope::stacks {

bool read_cpython313(const void* runtime, uint64_t version, PythonLayout& layout) {
  return read_debug_offsets({.interpreter_state_words = 13,
                             .thread_state_words = 9,
                             .words_before_frame = 0,
                             .interpreter_frame_words = 6,
                             .code_object_words = 10,
                             .values_end = ValuesEnd::count,
                             .type_shared_keys = 880},
                            runtime, version, layout);
}

}  // namespace tensorscope::stacks
