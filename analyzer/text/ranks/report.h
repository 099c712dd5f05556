// What `ranks` prints: the ranks of a job, what differs, outliers, skew over steps, who ran out of memory first, leaks.
#pragma once

#include <string>
#include <vector>

#include "ranks/rank_answer.h"
#include "ranks/rank_leaks.h"
#include "text/terminal.h"

namespace tensorscope::text {

struct RanksShown {
  const std::vector<analyzer::RankDump>& dumps;
  const analyzer::RankJob& job;
  const analyzer::RankAnswer& answer;
  const analyzer::NamePool& names;
  const std::vector<std::string>& holders;  // of the outliers (text/ranks/holders.h)
  const analyzer::RankLeaks* leaks;         // null: not asked for
  size_t unreadable;                        // files
};

// At most `top` rows a table (0: all).
std::string ranks_text(const RanksShown& shown, size_t top, const Terminal& terminal);

// "rank 3"; "pid 4242" where there are no ranks.
std::string member_name(const analyzer::RankMember& member);
// "0, 2-5 and 9"
std::string rank_list(const std::vector<int>& ranks);

}  // namespace tensorscope::text
