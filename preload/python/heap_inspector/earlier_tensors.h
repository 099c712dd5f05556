// SPDX-License-Identifier: Apache-2.0
// What was there before the profiler was attached: tensors that Python refers to, their memory on the CPU, and all that
// is allocated by torch on devices.
//
// Context: heap inspector.
#pragma once

#include "python/gil_thread.h"

namespace tensorscope::python::heap_inspector {

// Enters it into the live tables (live/preexisting_tensors.h), as far as the time goes.
void find_earlier_tensors(const Gil& gil, Deadline deadline);

}  // namespace tensorscope::python::heap_inspector
