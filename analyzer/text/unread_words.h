// SPDX-License-Identifier: Apache-2.0
// What a user does about files that a dump names and that could not be read here.
#pragma once

#include <string>
#include <string_view>

#include "symbols/unread.h"

namespace tensorscope::text {

// "2 libraries could not be read here (/opt/torch/lib/libtorch_cpu.so), so CONSEQUENCE. Run this on ..."; "" where no
// file is missing.
std::string unread_phrase(const analyzer::UnreadFiles& files, std::string_view consequence);

// The same of an answer that shows names of functions: which libraries it lacks. Another line reports what was switched
// off or not recorded: "" if nothing else is missing.
std::string unread_names_phrase(const analyzer::UnreadFiles& files);

}  // namespace tensorscope::text
