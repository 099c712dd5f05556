// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job, its moments and their differences are called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ranks/rank_answer.h"

namespace tensorscope::text {

// "rank 3"; "pid 4242" where there are no ranks.
std::string member_name(const analyzer::RankMember& member);
// "0, 2-5 and 9"
std::string rank_list(const std::vector<int>& ranks);
// "rank 0", "ranks 0, 2-5".
std::string members_words(const analyzer::RankJob& job, const std::vector<uint32_t>& members);
// "step 12"
std::string moment_words(const analyzer::RankMoment& moment);
// "+3.0 MiB, +8 %": against `median`.
std::string against(uint64_t bytes, uint64_t median);

}  // namespace tensorscope::text
