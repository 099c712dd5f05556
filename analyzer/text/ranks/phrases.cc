// SPDX-License-Identifier: Apache-2.0
#include "text/ranks/phrases.h"

#include <fmt/format.h>

#include "text/units.h"

namespace tensorscope::text {

using analyzer::RankMember;
using analyzer::RankMoment;

std::string member_name(const RankMember& member) {
  return member.rank >= 0 ? fmt::format("rank {}", member.rank) : fmt::format("pid {}", member.pid);
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i == 2) end = i + 1;  // "3, 4", not "3-4"
    out += (out.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (end - i > 1) out += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return out;
}

std::string members_words(const analyzer::RankJob& job, const std::vector<uint32_t>& members) {
  std::vector<int> ranks;
  std::string pids;
  for (const uint32_t i : members) {
    ranks.push_back(job.members[i].rank);
    pids += (pids.empty() ? "" : ", ") + std::to_string(job.members[i].pid);
  }
  if (!ranks.empty() && ranks.front() < 0) return fmt::format("{} {}", members.size() == 1 ? "pid" : "pids", pids);
  return fmt::format("{} {}", members.size() == 1 ? "rank" : "ranks", rank_list(ranks));
}

std::string moment_words(const RankMoment& moment) {
  switch (moment.kind) {
    case RankMoment::Kind::step:
      return fmt::format("step {}", moment.value);
    case RankMoment::Kind::number:
      return fmt::format("dump {} of each", moment.value);
    case RankMoment::Kind::last:
      return "the last dump of each";
  }
  return "";
}

std::string against(uint64_t bytes, uint64_t median) {
  const int64_t difference = int64_t(bytes - median);
  std::string out = signed_bytes(difference);
  if (median == 0 || difference == 0) return out;
  const double part = 100.0 * double(difference) / double(median);
  return out + (part > -0.5 && part < 0.5 ? ""
                : part > 999              ? fmt::format(", {:.0f} x", double(bytes) / double(median))
                                          : fmt::format(", {:+.0f} %", part));
}

}  // namespace tensorscope::text
