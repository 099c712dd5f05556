// SPDX-License-Identifier: Apache-2.0
// Whether all elements of a tensor are finite, as fast as memory can be read: what finds the one tensor in many that
// is worth its statistics.
//
// Context: as tensor_view.h. No memory is allocated, no lock taken.
#pragma once

#include "tensor_values/tensor_view.h"
#include "tensor_values/value_bounds.h"

namespace tensorscope::tensor_values {

// Whether a dtype has NaN or infinities at all.
bool can_be_not_finite(int dtype);

// True where an element is NaN or infinite. False for other dtypes.
bool any_not_finite(const TensorView& view);

// The same, and the bound of its elements where all are finite; kNoPower where the dtype is not a plain floating one or
// they do not lie together.
bool any_not_finite(const TensorView& view, Power& power);

}  // namespace tensorscope::tensor_values
