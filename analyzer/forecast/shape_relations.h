// SPDX-License-Identifier: Apache-2.0
// How the shape of a tensor relates to that of what it was made from.
#pragma once

#include <cstdint>
#include <span>

namespace tensorscope::analyzer::forecast {

// Whether a tensor of shape `own` is broadcast to `shape`.
bool broadcasts(std::span<const int64_t> own, std::span<const int64_t> shape);
// Whether it is of a shape that gives the other one with more of its kind: along a dimension, or a new one.
bool joins(std::span<const int64_t> own, std::span<const int64_t> shape);
// Whether it may be what another one was split into along one dimension.
bool is_part(std::span<const int64_t> part, std::span<const int64_t> whole);
// Whether one with more around it has the shape of the other.
bool fits_into(std::span<const int64_t> own, std::span<const int64_t> shape);

}  // namespace tensorscope::analyzer::forecast
