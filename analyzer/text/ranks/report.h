// SPDX-License-Identifier: Apache-2.0
// What `ranks` prints: the ranks of a job, what differs, outliers, skew over steps, who ran out of memory first, leaks.
#pragma once

#include <string>

#include "text/ranks/shown.h"
#include "text/terminal.h"

namespace tensorscope::text {

// At most `top` rows a table (0: all).
std::string ranks_text(const RanksShown& shown, size_t top, const Terminal& terminal);

}  // namespace tensorscope::text
