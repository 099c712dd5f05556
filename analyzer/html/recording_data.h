// SPDX-License-Identifier: Apache-2.0
// A recording as part of a page: what timeline says of it, and what was alive at many moments of it.
#pragma once

#include "html/payload.h"
#include "memory/opened_dump.h"
#include "timeline/timeline.h"

namespace tensorscope::html {

// Parts that a timeline for a page has: those of the page are some of them together.
inline constexpr size_t kPartsOfTimeline = 10'000;

// `opened`: a moment of the recording, whose sites are the timeline's.
Json recording_data(const analyzer::RecordingFile& file, const analyzer::MemoryTimeline& timeline,
                    analyzer::OpenedDump& opened, Payload& payload);

}  // namespace tensorscope::html
