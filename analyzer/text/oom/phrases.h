// SPDX-License-Identifier: Apache-2.0
// The words of `oom`: what a remedy is about, what to do, how its bytes are estimated. For text and JSON alike. Pure
// functions.
#pragma once

#include <string>

#include "dump/dump.h"
#include "oom/oom_analysis.h"

namespace tensorscope::text {

std::string subject_phrase(const analyzer::oom::Remedy& remedy);  // "train.py: losses[0..95] (list)", "process 991"
std::string title_phrase(const analyzer::oom::Remedy& remedy);    // "free train.py: losses[0..95] (list)"
std::string takes_words(const analyzer::oom::Remedy& remedy);     // what to do
std::string estimate_words(
    const analyzer::oom::Remedy& remedy);                       // how its bytes are estimated, "" where they are exact
std::string gives_phrase(const analyzer::oom::Remedy& remedy);  // "up to 4.1 MiB"
std::string range_words(const analyzer::oom::Remedy& remedy);   // "between 3.0 MiB and 4.1 MiB"; "": not an estimate
std::string price_phrase(
    const analyzer::oom::Remedy& remedy);                      // "a little time; same results; the line is train.py:57"
std::string fits_phrase(const analyzer::oom::Remedy& remedy);  // "the request would fit"; "": not known

// "query: float32 [64, 4096], 1.0 MiB"
std::string operand_phrase(const analyzer::Dump& dump, const analyzer::oom::Operand& operand);
// Where most of what is resident is in no tensor: which of it, and what to do. "": it is in tensors.
std::string outside_phrase(const analyzer::oom::BalanceNode& balance);
// Why there may be more remedies than these, "" where nothing is missing.
std::string missing_phrase(const analyzer::Dump& dump, const analyzer::oom::OomAnalysis& analysis);

}  // namespace tensorscope::text
