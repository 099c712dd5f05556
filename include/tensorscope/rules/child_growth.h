// SPDX-License-Identifier: Apache-2.0
// By how much memory of a child process has to grow from dump to dump that it counts: it writes a dump with its
// parent's, and `leaks` looks at it. What children of healthy programs have grows by less.
//
// Context: any.
#pragma once

#include <cstdint>

namespace tensorscope::rules {

inline constexpr uint64_t kLeastChildGrowth = uint64_t{384} << 10;

}  // namespace tensorscope::rules
