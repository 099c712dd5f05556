// SPDX-License-Identifier: Apache-2.0
// Which optimizer alone refers to a parameter.
//
// Context: any.
#pragma once

#include <string>

#include "dump/references.h"

namespace tensorscope::analyzer {

// "Adam" of "Adam.param_groups[3]['params'][0]", and of "Adam.state (key)", which is what a parameter is that was taken
// out of its group and left in the state; "" for any other way to a tensor.
std::string optimizer_of(const Reference& row);

// Returns the optimizer that alone refers to this tensor; "": there is none, or something else does, too.
std::string only_in_optimizer(const References& references, uint32_t tensor);

}  // namespace tensorscope::analyzer
