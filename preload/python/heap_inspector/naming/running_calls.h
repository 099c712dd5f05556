// SPDX-License-Identifier: Apache-2.0
// Which of several running calls of one function a frame is: by its thread, and by its depth there.
//
// Context: heap inspector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/naming/frame_locals.h"
#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

struct RunningCall {
  uint64_t thread = 0;  // PythonThread::id
  std::string thread_name;
  uint32_t depth = 1;  // which call of this code on the thread's stack, from the outermost on
};

// Of each of running_frames(), in their order.
std::vector<RunningCall> running_calls(const Gil& gil, const std::vector<Frame>& running, Attributes& attributes);

}  // namespace tensorscope::python::heap_inspector
