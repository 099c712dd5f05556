// SPDX-License-Identifier: Apache-2.0
// The suspects of a single dump: what they are, and a table of them.
#pragma once

#include <string>

#include "leaks/leaks.h"
#include "leaks/suspects.h"
#include "memory/opened_dump.h"
#include "text/terminal.h"

namespace tensorscope::text {

// Whether memory grew over the run, and how much of that no suspect explains; "" where it is not known, or dumps show
// it.
std::string growth_of_run(const analyzer::Leaks& leaks, const analyzer::Dump& last);
// Who is none, since live memory did not grow; "" without any.
std::string replaced_text(const std::vector<analyzer::Suspect>& replaced);
// `top`: how many are shown; 0: all.
std::string suspects_heading(const std::vector<analyzer::Suspect>& suspects, size_t top);
std::string suspects_table(analyzer::OpenedDump& opened, const std::vector<analyzer::Suspect>& suspects, size_t top,
                           const Terminal& terminal);

}  // namespace tensorscope::text
