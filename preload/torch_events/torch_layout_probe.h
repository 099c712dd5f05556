// SPDX-License-Identifier: Apache-2.0
// A few operations of torch that the profiler runs itself, before the program calls its modules: from them is learnt
// where this torch keeps the arguments and results of an operation (operation_trace.h), and where a node of autograd
// keeps its sequence number (backward_calls.h).
#pragma once

#include "python/interpreter.h"

namespace tensorscope::torch_events {

constexpr unsigned kLayoutProbeMs = 2000;  // at most, for some twenty small operations on a machine that is busy

// They run on a thread of ours, so that nothing that the program has on its own threads sees them, and its sequence
// numbers stay as they are. Returns false, not now, while something of the program sees the operations of all threads.
// Errors are not told. Context: with the GIL, which is given up meanwhile, under an InsideScope, once operations or
// nodes are followed. Torch has been imported whole.
bool run_torch_layout_probe(const python::Gil& gil, python::Object* torch);

}  // namespace tensorscope::torch_events
