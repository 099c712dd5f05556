// SPDX-License-Identifier: Apache-2.0
// What torch's caching allocator holds of each device: sums, streams and pools, how the free memory lies, and the
// largest segments.
#pragma once

#include <string>

#include "dump/dump.h"
#include "text/terminal.h"

namespace tensorscope::text {

// `top`: how many segments of each device are shown; 0: all.
std::string segment_tables(const analyzer::Dump& dump, size_t top, const text::Terminal& terminal);

}  // namespace tensorscope::text
