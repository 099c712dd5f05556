// SPDX-License-Identifier: Apache-2.0
#include "ranks/rank_answer.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <utility>

namespace tensorscope::analyzer {

namespace {

constexpr uint64_t kSamePart = 100;      // peers that differ by at most 1 % hold the same
constexpr uint64_t kMinOutlier = 16384;  // bytes: what is less is of no interest,
constexpr uint64_t kOutlierPart = 100;   // nor what is less than 1 % of what a rank holds,
constexpr uint64_t kOutlierOfRow = 20;   // or than 5 % of the row's median
// As a standard deviation is estimated from the median absolute deviation, times three.
constexpr double kDeviations = 3 * 1.4826;

// The lower of the two in the middle: a value that a member has.
uint64_t median_of(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ptrdiff_t((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

// Members that take part in a moment, peers together.
class Present {
 public:
  Present(const RankJob& job, const RankMoment& moment) : size_(job.members.size()) {
    for (uint32_t i = 0; i < size_; ++i) {
      if (moment.dump_of[i] == kNone) continue;
      all_.push_back(i);
      peers_[job.members[i].peers].push_back(i);
    }
  }
  const std::vector<uint32_t>& all() const { return all_; }
  const std::map<uint32_t, std::vector<uint32_t>>& peers() const { return peers_; }

  RankSpread spread(const std::vector<uint64_t>& bytes) const {
    RankSpread out;
    if (all_.empty()) return out;
    out.least_member = out.most_member = all_.front();
    for (const uint32_t i : all_) {
      if (bytes[i] < bytes[out.least_member]) out.least_member = i;
      if (bytes[i] > bytes[out.most_member]) out.most_member = i;
    }
    out.least = bytes[out.least_member];
    out.most = bytes[out.most_member];
    out.median = median_of(of(bytes, all_));
    return out;
  }
  static std::vector<uint64_t> of(const std::vector<uint64_t>& bytes, const std::vector<uint32_t>& members) {
    std::vector<uint64_t> out;
    out.reserve(members.size());
    for (const uint32_t i : members) out.push_back(bytes[i]);
    return out;
  }

 private:
  size_t size_;
  std::vector<uint32_t> all_;
  std::map<uint32_t, std::vector<uint32_t>> peers_;
};

bool same_among_peers(const Present& present, const std::vector<uint64_t>& bytes) {
  for (const auto& [number, members] : present.peers()) {
    const std::vector<uint64_t> values = Present::of(bytes, members);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    if (*most - *least > *most / kSamePart) return false;
  }
  return true;
}

std::vector<RankRow> rows_of(const std::vector<RankDump>& dumps, const RankJob& job, const Present& present,
                             const RankMoment& moment) {
  std::vector<RankRow> rows;
  for (size_t subject = 0; subject < kRankSubjects; ++subject) {
    const size_t first = rows.size();
    std::unordered_map<uint32_t, size_t> index;
    for (const uint32_t member : present.all()) {
      for (const RankPart& part : dumps[moment.dump_of[member]].parts[subject]) {
        const auto [at, fresh] = index.try_emplace(part.name, rows.size());
        if (fresh) {
          rows.emplace_back();
          rows.back().subject = RankSubject(subject);
          rows.back().name = part.name;
          rows.back().bytes.resize(job.members.size());
        }
        RankRow& row = rows[at->second];
        row.bytes[member] = part.bytes;
        ++row.members;
      }
    }
    for (size_t i = first; i < rows.size(); ++i) {
      rows[i].spread = present.spread(rows[i].bytes);
      rows[i].same = same_among_peers(present, rows[i].bytes);
    }
    std::stable_sort(rows.begin() + std::ptrdiff_t(first), rows.end(), [](const RankRow& a, const RankRow& b) {
      return std::make_pair(a.same ? 0 : a.spread.range(), a.spread.median) >
             std::make_pair(b.same ? 0 : b.spread.range(), b.spread.median);
    });
  }
  return rows;
}

class OutlierSearch {
 public:
  OutlierSearch(const Present& present, std::vector<uint64_t> totals) : present_(present), totals_(std::move(totals)) {
    look(totals_, {.total = true});
  }

  void look(const std::vector<uint64_t>& bytes, const RankOutlier& what) {
    for (const auto& [number, members] : present_.peers()) {
      if (members.size() < 3) continue;  // of two nobody can say which one is the exception
      const std::vector<uint64_t> values = Present::of(bytes, members);
      const uint64_t median = median_of(values);
      std::vector<uint64_t> deviations;
      for (const uint64_t value : values) deviations.push_back(distance(value, median));
      const double usual = kDeviations * double(median_of(deviations));
      const uint64_t whole = median_of(Present::of(totals_, members));
      const uint64_t least = std::max({kMinOutlier, whole / kOutlierPart, median / kOutlierOfRow});
      for (const uint32_t member : members) {
        const uint64_t by = distance(bytes[member], median);
        if (by < least || double(by) <= usual) continue;
        RankOutlier outlier = what;
        outlier.member = member;
        outlier.bytes = bytes[member];
        outlier.median = median;
        found_.push_back(outlier);
      }
    }
  }

  std::vector<RankOutlier> take() {
    std::stable_sort(found_.begin(), found_.end(), [](const RankOutlier& a, const RankOutlier& b) {
      if (a.member != b.member) return a.member < b.member;
      if (a.total != b.total) return a.total;
      return std::abs(a.difference()) > std::abs(b.difference());
    });
    return std::move(found_);
  }

 private:
  const Present& present_;
  const std::vector<uint64_t> totals_;
  std::vector<RankOutlier> found_;
};

std::vector<uint64_t> live_bytes(const std::vector<RankDump>& dumps, const RankMoment& moment) {
  std::vector<uint64_t> out;
  for (const uint32_t dump : moment.dump_of) out.push_back(dump == kNone ? 0 : dumps[dump].live_bytes);
  return out;
}

RankMomentSums sums_of(const std::vector<RankDump>& dumps, const RankJob& job, size_t index) {
  const RankMoment& moment = job.moments[index];
  const Present present(job, moment);
  RankMomentSums out;
  out.moment = index;
  out.members = present.all().size();
  out.live = present.spread(live_bytes(dumps, moment));
  for (const uint32_t member : present.all()) {
    const uint64_t when = dumps[moment.dump_of[member]].process.dump_unix_ns;
    out.from_unix_ns = out.from_unix_ns == 0 ? when : std::min(out.from_unix_ns, when);
    out.to_unix_ns = std::max(out.to_unix_ns, when);
  }
  return out;
}

// Members that take part in both moments.
std::vector<RankGrowth> growth_between(const std::vector<RankDump>& dumps, const RankJob& job, const RankMoment& first,
                                       const RankMoment& last) {
  std::vector<uint32_t> both;
  for (uint32_t i = 0; i < job.members.size(); ++i) {
    if (first.dump_of[i] != kNone && last.dump_of[i] != kNone) both.push_back(i);
  }
  std::unordered_map<uint32_t, std::vector<int64_t>> by_site;
  for (size_t i = 0; i < both.size(); ++i) {
    const auto add = [&](uint32_t dump, int64_t sign) {
      for (const RankPart& part : dumps[dump].of(RankSubject::site)) {
        std::vector<int64_t>& change = by_site[part.name];
        change.resize(both.size());
        change[i] += sign * int64_t(part.bytes);
      }
    };
    add(last.dump_of[both[i]], 1);
    add(first.dump_of[both[i]], -1);
  }
  std::vector<RankGrowth> out;
  for (auto& [name, change] : by_site) {
    RankGrowth row;
    row.name = name;
    const auto most = std::max_element(change.begin(), change.end());
    row.most = *most;
    row.most_member = both[size_t(most - change.begin())];
    row.members = uint32_t(std::count_if(change.begin(), change.end(), [](int64_t bytes) { return bytes > 0; }));
    const auto middle = change.begin() + std::ptrdiff_t((change.size() - 1) / 2);
    std::nth_element(change.begin(), middle, change.end());
    row.median = *middle;
    if (row.most > 0) out.push_back(row);
  }
  std::sort(out.begin(), out.end(), [](const RankGrowth& a, const RankGrowth& b) {
    return std::make_pair(-a.most, a.name) < std::make_pair(-b.most, b.name);
  });
  return out;
}

std::optional<RankOutOfMemory> out_of_memory(const std::vector<RankDump>& dumps, const RankJob& job) {
  std::optional<RankOutOfMemory> out;
  std::vector<uint32_t> failed;
  uint64_t first = UINT64_MAX;
  for (uint32_t i = 0; i < job.members.size(); ++i) {
    bool any = false;
    for (const uint32_t dump : job.members[i].dumps) {
      if (!dumps[dump].failure) continue;
      any = true;
      if (dumps[dump].failure->unix_ns >= first) continue;
      first = dumps[dump].failure->unix_ns;
      out = RankOutOfMemory{.member = i, .dump = dump, .others = {}, .also = {}};
    }
    if (any) failed.push_back(i);
  }
  if (!out) return out;
  for (uint32_t i = 0; i < job.members.size(); ++i) {
    if (i == out->member) continue;
    const auto away = [&](uint32_t dump) { return distance(dumps[dump].process.dump_unix_ns, first); };
    const auto nearest = std::min_element(job.members[i].dumps.begin(), job.members[i].dumps.end(),
                                          [&](uint32_t a, uint32_t b) { return away(a) < away(b); });
    out->others.push_back({i, *nearest, int64_t(dumps[*nearest].process.dump_unix_ns - first)});
    if (std::find(failed.begin(), failed.end(), i) != failed.end()) out->also.push_back(i);
  }
  return out;
}

}  // namespace

RankAnswer compare_ranks(const std::vector<RankDump>& dumps, const RankJob& job) {
  RankAnswer answer;
  if (job.moments.empty()) return answer;
  const RankMoment& moment = job.moments[job.compared];
  const Present present(job, moment);
  const std::vector<uint64_t> totals = live_bytes(dumps, moment);
  answer.live = present.spread(totals);
  answer.rows = rows_of(dumps, job, present, moment);
  OutlierSearch outliers(present, totals);
  for (const RankRow& row : answer.rows) outliers.look(row.bytes, {.subject = row.subject, .name = row.name});
  answer.outliers = outliers.take();
  for (size_t i = 0; i < job.moments.size(); ++i) answer.moments.push_back(sums_of(dumps, job, i));
  if (job.compared > 0) answer.growth = growth_between(dumps, job, job.moments.front(), moment);
  answer.out_of_memory = out_of_memory(dumps, job);
  return answer;
}

}  // namespace tensorscope::analyzer
