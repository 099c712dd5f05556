// SPDX-License-Identifier: Apache-2.0
// Profilers of torch that are on: until one is stopped, C++ keeps every operation that it has seen, with the tensors'
// shapes where these are recorded. Of that memory nothing in Python knows but who has the profiler.
//
// torch.autograd.profiler.profile (torch/autograd/profiler.py, 1.8 on; torch.profiler.profile has one): `entered` is
// true from its start on, `kineto_results` is None until it is stopped.
//
// Context: heap inspector.
#pragma once

#include "python/heap_inspector/graph/attributes.h"
#include "python/heap_inspector/naming/chains.h"
#include "python/references.h"

namespace tensorscope::python::heap_inspector {

// Adds a row to `out.profilers` for each. Where a limit is reached, none.
void write_profiler_rows(const Gil& gil, const ObjectGraph& graph, Attributes& attributes, const ObjectPaths& paths,
                         Chains& chains, LookLimits& limits, References& out);

}  // namespace tensorscope::python::heap_inspector
