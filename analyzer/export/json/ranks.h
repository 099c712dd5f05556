// SPDX-License-Identifier: Apache-2.0
// The answer of `ranks` as JSON (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "ranks/rank_answer.h"
#include "ranks/rank_leaks.h"

namespace tensorscope::exports {

// `holders`: of each outlier, "" where they are not known. `leaks`: null where they were not asked for.
std::string ranks_json(const std::vector<analyzer::RankDump>& dumps, const analyzer::RankJob& job,
                       const analyzer::RankAnswer& answer, const analyzer::NamePool& names,
                       const std::vector<std::string>& holders, const analyzer::RankLeaks* leaks,
                       const std::vector<std::string>& unreadable);

}  // namespace tensorscope::exports
