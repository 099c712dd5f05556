// A recording as part of a page: what timeline says of it, and what was alive at many moments of it.
#pragma once

#include "html/payload.h"
#include "memory/opened_dump.h"
#include "timeline/timeline.h"

namespace tensorscope::html {

// `opened`: a moment of the recording, whose sites are the timeline's.
Json recording_data(const analyzer::RecordingFile& file, const analyzer::MemoryTimeline& timeline,
                    analyzer::OpenedDump& opened, Payload& payload);

}  // namespace tensorscope::html
