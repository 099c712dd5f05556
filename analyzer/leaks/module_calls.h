// SPDX-License-Identifier: Apache-2.0
// Local variables of nn.Modules' calls that run: what they hold goes when the call returns, so it cannot grow from step
// to step.
#pragma once

#include <cstdint>

#include "dump/dump.h"

namespace tensorscope::analyzer {

// Whether what refers to this tensor is a local variable of a function inside such a call, or of torch's own call of
// the module. Told by the tensor's stack: the call was running when it was made.
bool local_of_module_call(const Dump& dump, const Reference& row, uint32_t tensor);

}  // namespace tensorscope::analyzer
