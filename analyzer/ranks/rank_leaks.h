// SPDX-License-Identifier: Apache-2.0
// Leaks over ranks: what `leaks` finds in the dumps of each rank, the same finding of several ranks as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leaks/finding.h"
#include "ranks/job.h"

namespace tensorscope::analyzer {

struct RankLeak {
  LeakKind kind = LeakKind::container;
  std::string where;              // where it is made, "" at no one place
  LeakFinding finding;            // of the member where it is largest
  std::vector<uint32_t> members;  // that have it
  uint64_t least = 0, most = 0;   // bytes by member
  uint32_t most_member = 0;
};

struct RankLeaks {
  std::vector<RankLeak> leaks;    // the largest first
  std::vector<uint32_t> skipped;  // members whose dumps cannot be compared: fewer than two that know names
  UnreadFiles unread;             // that the search lacked
};

// Opens the dumps of one member at a time. Throws BadInput, BadFilter.
RankLeaks find_rank_leaks(const std::vector<RankDump>& dumps, const RankJob& job, const Filter& filter,
                          const SymbolOptions& symbols);

// What could not be read for an answer about these dumps; `leaks`: null where they were not asked for.
UnreadFiles unread_files(const std::vector<RankDump>& dumps, const RankLeaks* leaks);

}  // namespace tensorscope::analyzer
