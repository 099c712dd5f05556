// SPDX-License-Identifier: Apache-2.0
// Whose the memory is, in a line: of the answer of `oom`. Pure functions.
#pragma once

#include <string>

#include "oom/oom_analysis.h"

namespace tensorscope::text {

// "16.00 GiB: torch 9.68 GiB (+ 666.0 MiB cached), libraries 512.0 MiB, ..., free 433.0 MiB"
std::string shares_phrase(const analyzer::oom::OomAnalysis& analysis);
// "saved activation 34.6 MiB (95 %, most in model.*), gradient 67.4 KiB"; "": no tensor is known.
std::string largest_categories_phrase(const analyzer::oom::OomAnalysis& analysis);
// Why what is cached could not serve the request.
std::string cached_phrase(const analyzer::oom::OomAnalysis& analysis);

}  // namespace tensorscope::text
