// SPDX-License-Identifier: Apache-2.0
// Decides where results that are not finite come from: whether this operation made the first NaN or infinity, or had it
// from somewhere else.
//
// Context: callbacks of operations, under an InsideScope.
#pragma once

#include "find_nan/checked_operation.h"
#include "find_nan/nan_report.h"

namespace tensorscope::find_nan {

struct NanOrigin {
  enum class Kind : uint8_t {
    argument,          // an argument had it already: `candidate` made it (0: one that is not reported)
    unwritten_memory,  // an argument's memory has never been written (torch.empty)
    deliberate,        // the program means it: a mask of infinities, a number that it gave
    operation_within,  // an operation that this one called made it
    here,              // none of these: this operation made it, and `cause` says from what
  };
  Kind kind = Kind::here;
  uint8_t candidate = 0;
  Cause cause = Cause::computed;
};

// `bad`: those of `results` that are not finite.
NanOrigin nan_origin(const OperationThread& thread, const OperationFrame& frame, const OperationResults& results,
                     const OperationResult* const* bad, int bad_count);

}  // namespace tensorscope::find_nan
