// SPDX-License-Identifier: Apache-2.0
// torch's own snapshot of its CUDA allocator: the one source of streams, pools and blocks that wait for a stream. It is
// asked for through torch's Python module; the C++ function behind it returns structs whose layout changes from version
// to version.
//
// The answer is made of Python's own numbers, texts, lists and dicts, so making it and dropping it runs none of the
// program's code; the garbage collector is paused meanwhile. torch takes its allocator's lock with the GIL held,
// which is its own order (c10/cuda/CUDACachingAllocator.cpp: "GIL -> allocator lock").
#pragma once

#include "devices/segments.h"
#include "python/interpreter.h"

namespace tensorscope::python::heap_inspector {

// Context: heap inspector, where CUDA was used in this process, so that nothing is initialised by the question.
void ask_allocator(const Gil& gil, devices::AllocatorSnapshot& out);

}  // namespace tensorscope::python::heap_inspector
