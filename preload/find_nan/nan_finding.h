// SPDX-License-Identifier: Apache-2.0
// What a finding says of the operation that made it, and saying it.
//
// Context: describe() in the callbacks of operations, report_finding() where no guard is held.
#pragma once

#include "find_nan/checked_operation.h"
#include "find_nan/nan_report.h"

namespace tensorscope::find_nan {

// `node`: the autograd node that runs, null: none. `bad`: the results that are not finite.
void describe(const OperationThread& thread, const OperationFrame& frame, const OperationResult* const* bad,
              int bad_count, Cause cause, const void* node, uint32_t step, Finding& out);
// To standard error and into the file of values.
void report_finding(Finding& finding);

}  // namespace tensorscope::find_nan
