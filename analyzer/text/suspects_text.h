// The suspects of a single dump, as a table.
#pragma once

#include <string>

#include "leaks/suspects.h"
#include "memory/opened_dump.h"
#include "text/terminal.h"

namespace tensorscope::text {

// At most `top` suspects (0: all); "" without any.
std::string suspects_text(analyzer::OpenedDump& opened, const std::vector<analyzer::Suspect>& suspects, size_t top,
                          const Terminal& terminal);

}  // namespace tensorscope::text
