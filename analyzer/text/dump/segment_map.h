// SPDX-License-Identifier: Apache-2.0
// A segment as a line of characters, each an equal part of it: '#' in use, '.' free, 'w' freed but waiting for a
// stream,
// '+' not all the same.
#pragma once

#include <string>
#include <vector>

#include "dump/device_memory.h"

namespace tensorscope::text {

// `blocks` cover the segment (analyzer::covering_blocks). `width` > 0.
std::string segment_map(const analyzer::Segment& segment, const std::vector<analyzer::SegmentBlock>& blocks, int width);

}  // namespace tensorscope::text
