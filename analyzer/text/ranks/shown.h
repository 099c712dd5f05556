// SPDX-License-Identifier: Apache-2.0
// What `ranks` shows, and what its parts look up in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ranks/rank_answer.h"
#include "ranks/rank_leaks.h"
#include "text/ranks/phrases.h"
#include "text/table.h"
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

struct RanksView {
  const RanksShown& shown;
  size_t top;  // rows of a table at most; 0: all
  const Terminal& terminal;

  const analyzer::RankJob& job() const { return shown.job; }
  const analyzer::RankAnswer& answer() const { return shown.answer; }
  const analyzer::RankMoment& moment() const { return job().moments[job().compared]; }
  // Of the moment that is compared; null: the member has none.
  const analyzer::RankDump* dump_of(uint32_t member) const {
    const uint32_t dump = moment().dump_of[member];
    return dump == analyzer::kNone ? nullptr : &shown.dumps[dump];
  }
  const std::string& name(uint32_t id) const { return shown.names[id]; }
  std::string of(uint32_t member) const { return member_name(job().members[member]); }
  std::string line(const std::string& words, int indent = 2, Style style = Style::plain) const {
    return terminal.styled(style, wrap(clean(words), terminal.width, indent)) + "\n";
  }
};

}  // namespace tensorscope::text
