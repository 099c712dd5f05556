// SPDX-License-Identifier: Apache-2.0
// Where names and categories of a moment of a recording are from.
#pragma once

#include <cstdint>
#include <string>

#include "memory/opened_dump.h"
#include "text/terminal.h"

namespace tensorscope::text {

// Marks a category that was inferred.
inline constexpr char kInferredMark[] = " ~";

struct MomentNames {
  uint64_t named = 0;  // tensors that are in a dump of the run
  uint64_t inferred = 0, inferred_bytes = 0;
  uint64_t unknown = 0;  // tensors without a category
};
MomentNames count_names(const analyzer::OpenedDump& opened);

// One line, counted; "" for a dump.
std::string moment_names_line(const analyzer::OpenedDump& opened, const Terminal& terminal);

}  // namespace tensorscope::text
