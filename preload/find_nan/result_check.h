// SPDX-License-Identifier: Apache-2.0
// Whether a result of an operation is finite: from what is known of its arguments, or by reading it.
//
// Context: the callbacks of operations.
#pragma once

#include "find_nan/checked_operation.h"

namespace tensorscope::find_nan {

// True: it is not finite, and this operation computed it. What is known of its values is brought up to date.
bool look_at_result(OperationThread& thread, const OperationFrame& frame, const OperationResult& result);
// Others' operations: what they write, and when, is not known.
void forget_bounds(const OperationThread& thread, const OperationFrame& frame);

}  // namespace tensorscope::find_nan
