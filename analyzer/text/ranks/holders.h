// SPDX-License-Identifier: Apache-2.0
// What keeps alive what a rank has more of than its peers: its dump is opened once more for that.
#pragma once

#include <string>
#include <vector>

#include "memory/selection.h"
#include "ranks/rank_answer.h"
#include "symbols/symbols.h"

namespace tensorscope::text {

// A line as held_by() for each of the outliers, in their order; "" where it is not looked at: what is not the member's
// largest allocation site, less than the median, or of a member after the first eight. Throws BadInput, BadFilter.
std::vector<std::string> outlier_holders(const std::vector<analyzer::RankDump>& dumps, const analyzer::RankJob& job,
                                         const analyzer::RankAnswer& answer, const analyzer::NamePool& names,
                                         const analyzer::Filter& filter, const analyzer::SymbolOptions& symbols);

}  // namespace tensorscope::text
