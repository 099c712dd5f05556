// SPDX-License-Identifier: Apache-2.0
// Python frames, code objects and native frames that a test makes up. Functions with these names stand before the
// library's: the linker takes nothing from the archive for them. For one file of a test program.
#pragma once

#include <vector>

#include "stacks/native/native_stack.h"
#include "stacks/python/python_stack.h"

namespace tensorscope::stacks {

inline std::vector<NativeFrame> g_native = {{}};
inline std::vector<PythonFrame> g_python = {{}};
inline std::vector<PythonCode> g_codes;

// Adds a frame of the function `f` in `file`, called by `parent`.
inline StackId add_python_frame(const char* file, int32_t line, StackId parent, bool entry = false) {
  g_codes.push_back({file, "f", 1});
  g_python.push_back({0, parent, uint32_t(g_codes.size() - 1), line, entry});
  return StackId(g_python.size() - 1);
}

size_t python_frame_count() { return g_python.size(); }
PythonFrame python_frame(StackId id) { return g_python[id]; }
size_t python_code_count() { return g_codes.size(); }
PythonCode python_code(uint32_t id) { return g_codes[id]; }

}  // namespace tensorscope::stacks
