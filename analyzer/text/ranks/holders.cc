// SPDX-License-Identifier: Apache-2.0
#include "text/ranks/holders.h"

#include "memory/opened_dump.h"
#include "text/dump/holders.h"

namespace tensorscope::text {

std::vector<std::string> outlier_holders(const std::vector<analyzer::RankDump>& dumps, const analyzer::RankJob& job,
                                         const analyzer::RankAnswer& answer, const analyzer::NamePool& names,
                                         const analyzer::Filter& filter, const analyzer::SymbolOptions& symbols) {
  constexpr size_t kMaxMembers = 8;  // each costs as much as reading its dump
  std::vector<std::string> out(answer.outliers.size());
  if (answer.outliers.empty()) return out;
  const std::vector<uint32_t>& dump_of = job.moments[job.compared].dump_of;
  uint32_t last = analyzer::kNone;
  size_t members = 0;
  for (size_t i = 0; i < answer.outliers.size() && members < kMaxMembers; ++i) {
    const analyzer::RankOutlier& outlier = answer.outliers[i];
    if (outlier.total || outlier.subject != analyzer::RankSubject::site || outlier.difference() <= 0) continue;
    if (outlier.member == last || dump_of[outlier.member] == analyzer::kNone) continue;
    last = outlier.member;
    ++members;
    analyzer::OpenedDump opened(dumps[dump_of[outlier.member]].path, symbols);
    const analyzer::Selection selection = opened.choose(filter);
    for (const analyzer::Group& group : analyzer::group(opened.view(selection), analyzer::GroupBy::line)) {
      if (opened.places.at(group.site).where == names[outlier.name]) out[i] = held_by(opened, group);
    }
  }
  return out;
}

}  // namespace tensorscope::text
