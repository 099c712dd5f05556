// SPDX-License-Identifier: Apache-2.0
// What is the same on all ranks of a job and what differs: rows of one category, module or allocation site each, ranks
// that hold more or less than their peers, how the ranks change from moment to moment, and who ran out of memory first.
// Numbers and names; the sentences are in text/ranks/report.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ranks/job.h"

namespace tensorscope::analyzer {

// Bytes over the members that take part in a moment; a member without the row has 0.
struct RankSpread {
  uint64_t least = 0, median = 0, most = 0;
  uint32_t least_member = 0, most_member = 0;
  uint64_t range() const { return most - least; }
};

struct RankRow {
  RankSubject subject = RankSubject::category;
  uint32_t name = 0;
  RankSpread spread;
  uint32_t members = 0;         // that have it
  bool same = false;            // among peers: the range is at most 1 % of the most
  std::vector<uint64_t> bytes;  // by member
};

// A member that holds more or less of something than the median of its peers, by more than these differ otherwise.
struct RankOutlier {
  uint32_t member = 0;
  bool total = false;  // of all that it holds; else of `subject` and `name`
  RankSubject subject = RankSubject::category;
  uint32_t name = 0;
  uint64_t bytes = 0, median = 0;
  int64_t difference() const { return int64_t(bytes - median); }
};

struct RankMomentSums {
  size_t moment = 0;  // index into RankJob::moments
  size_t members = 0;
  RankSpread live;
  uint64_t from_unix_ns = 0, to_unix_ns = 0;  // first and last dump of the moment
};

// A site whose bytes grew from the first moment to the compared one.
struct RankGrowth {
  uint32_t name = 0;
  int64_t median = 0, most = 0;  // bytes
  uint32_t most_member = 0;
  uint32_t members = 0;  // on which it grew
};

// What a member held when another ran out of memory.
struct HeldThen {
  uint32_t member = 0, dump = 0;
  int64_t after_ns = 0;  // its dump, against the failure; by the clocks of the hosts
};

struct RankOutOfMemory {
  uint32_t member = 0, dump = 0;  // the first
  std::vector<HeldThen> others;   // of each other member the dump that is nearest in time
  std::vector<uint32_t> also;     // members that failed later
};

struct RankAnswer {
  RankSpread live;                    // of the compared moment
  std::vector<RankRow> rows;          // of the compared moment; by subject, the largest range first, then by bytes
  std::vector<RankOutlier> outliers;  // by member; its total first, then the largest difference first
  std::vector<RankMomentSums> moments;
  std::vector<RankGrowth> growth;  // the largest first; empty where there is one moment only
  size_t growth_since = 0;         // index of the moment that it is counted from
  std::optional<RankOutOfMemory> out_of_memory;
};

RankAnswer compare_ranks(const std::vector<RankDump>& dumps, const RankJob& job);

}  // namespace tensorscope::analyzer
