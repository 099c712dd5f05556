// SPDX-License-Identifier: Apache-2.0
// Memory beside the source lines that allocated it.
#pragma once

#include <string>

#include "memory/opened_dump.h"
#include "text/terminal.h"
#include "timeline/source_memory.h"
#include "timeline/timeline.h"

namespace tensorscope::text {

// `lines`: those of `timeline.lines`.
std::string line_memory_text(const analyzer::MemoryTimeline& timeline, const analyzer::LinesOfSites& lines,
                             analyzer::OpenedDump& opened, const Terminal& terminal);

}  // namespace tensorscope::text
