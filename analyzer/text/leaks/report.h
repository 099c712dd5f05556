// SPDX-License-Identifier: Apache-2.0
// What `leaks` prints: the summary, each finding with its evidence, and the places that grew.
#pragma once

#include <string>

#include "leaks/leaks.h"
#include "memory/compared_dumps.h"
#include "text/terminal.h"

namespace tensorscope::text {

// At most `top` places (0: all).
std::string leaks_text(analyzer::ComparedDumps& dumps, const analyzer::Leaks& leaks, size_t top,
                       const text::Terminal& terminal);

// The line under the title, and the findings' headlines with their numbers.
std::string leaks_answer(const analyzer::ComparedDumps& dumps, const analyzer::Leaks& leaks, const Terminal& terminal);

// What was not recorded, so that a finding may be missing and not absent; "" where all was.
std::string gaps_text(const analyzer::ComparedDumps& dumps);

// "192.0 KiB held by unreachable cycle of Batch: no finding, ...": of cycles that the garbage collector frees.
std::string passing_cycles_text(const analyzer::Leaks& leaks);

// "30.0 MiB held by train.py: losses[0..95], +20.0 MiB since leak.1.tscope": how much, who has it, since when.
std::string finding_headline(const analyzer::LeakFinding& finding, const std::string& first_dump);

// "x.tscope is left out: it has no tensor names."
std::string left_out_line(const analyzer::ExcludedDump& left_out);

}  // namespace tensorscope::text
