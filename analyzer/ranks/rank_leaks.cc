// SPDX-License-Identifier: Apache-2.0
#include "ranks/rank_leaks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "leaks/leaks.h"
#include "memory/compared_dumps.h"

namespace tensorscope::analyzer {

RankLeaks find_rank_leaks(const std::vector<RankDump>& dumps, const RankJob& job, const Filter& filter,
                          const SymbolOptions& symbols) {
  RankLeaks out;
  std::map<std::pair<LeakKind, std::string>, RankLeak> found;
  for (uint32_t i = 0; i < job.members.size(); ++i) {
    std::vector<std::string> paths;
    for (const uint32_t dump : job.members[i].dumps) paths.push_back(dumps[dump].path);
    if (paths.size() < 2) {
      out.skipped.push_back(i);
      continue;
    }
    ComparedDumps opened(paths, filter, symbols);
    opened.leave_out_incomparable();
    std::map<std::pair<LeakKind, std::string>, uint64_t> bytes;
    for (LeakFinding& finding : find_leaks(opened.views(), filter.empty()).findings) {
      const std::string where = finding.site == 0 ? "" : opened.last().places.at(finding.site).where;
      const std::pair key{finding.kind, where};
      RankLeak& leak = found[key];
      uint64_t& all = bytes[key];
      if (all == 0) leak.members.push_back(i);
      all += std::max<uint64_t>(finding.bytes, 1);
      if (leak.members.size() > 1 && finding.bytes <= leak.finding.bytes) continue;
      leak.kind = finding.kind;
      leak.where = where;
      leak.finding = std::move(finding);
    }
    out.unread.add(opened.unread());
    for (const auto& [key, all] : bytes) {
      RankLeak& leak = found[key];
      leak.least = leak.members.size() == 1 ? all : std::min(leak.least, all);
      if (all <= leak.most) continue;
      leak.most = all;
      leak.most_member = i;
    }
  }
  for (auto& [key, leak] : found) out.leaks.push_back(std::move(leak));
  std::stable_sort(out.leaks.begin(), out.leaks.end(),
                   [](const RankLeak& a, const RankLeak& b) { return a.most > b.most; });
  return out;
}

UnreadFiles unread_files(const std::vector<RankDump>& dumps, const RankLeaks* leaks) {
  UnreadFiles files;
  for (const RankDump& dump : dumps) files.add(dump.unread);
  if (leaks != nullptr) files.add(leaks->unread);
  return files;
}

}  // namespace tensorscope::analyzer
