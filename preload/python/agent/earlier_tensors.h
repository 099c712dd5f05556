// Tensors that were made before the profiler was attached, found where Python refers to them.
//
// Context: agent.
#pragma once

#include "python/gil_thread.h"

namespace tensorscope::python::agent {

// Enters them into the table of live tensors (live/earlier_tensors.h), as far as the time goes.
void find_earlier_tensors(const Gil& gil, Deadline deadline);

}  // namespace tensorscope::python::agent
