// SPDX-License-Identifier: Apache-2.0
// What a finding says of the operation that made it, and saying it.
//
// Context: describe() in the callbacks of operations, report_finding() where no guard is held.
#pragma once

#include <cstdint>
#include <span>

#include "find_nan/checked_operation.h"
#include "find_nan/nan_report.h"

namespace tensorscope::find_nan {

// An operation that made what is not finite.
struct BadOperation {
  const OperationThread& thread;
  const OperationFrame& frame;
  std::span<const OperationResult* const> bad;  // the results that are not finite
  Cause cause;
  const void* node;  // the autograd node that runs, null: none
  uint32_t step;
};
void describe(const BadOperation& of, Finding& out);
// To standard error and into the file of values.
void report_finding(Finding& finding);

}  // namespace tensorscope::find_nan
