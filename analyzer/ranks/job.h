// SPDX-License-Identifier: Apache-2.0
// Which dumps belong together: the ranks of one job, the dumps of each, and the moments at which all of them wrote one.
//
// A job is what has the same Process::job. Where a rank was started again (another run), its newest process counts. A
// process whose parent has the same rank is a worker of it (DataLoader, multiprocessing) and no rank of its own. Where
// no dump knows a rank, each process counts as one.
//
// A moment is a step where every dump knows its step, else the n-th dump of each rank. Dumps at exit and of failures
// are of no moment, unless there are no others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ranks/rank_dump.h"

namespace tensorscope::analyzer {

struct RankMember {
  int rank = -1;  // -1: no rank, told by its process id
  uint32_t pid = 0;
  std::string host;
  std::vector<uint32_t> dumps;    // indexes, in order of time
  std::vector<uint32_t> workers;  // the newest dump of each of its worker processes
  uint32_t peers = 0;             // members with the same number hold the same kind of thing: one pipeline stage
};

struct RankMoment {
  enum class Kind : uint8_t { step, number, last } kind = Kind::number;
  int64_t value = 0;              // the step, or which dump of each rank, from 1
  std::vector<uint32_t> dump_of;  // by member; kNone: it has none
  size_t members() const;
};

struct RankJob {
  std::string name;
  int world_size = -1;              // the largest that a dump knows; -1: none does
  std::vector<RankMember> members;  // by rank, then by process
  std::vector<int> missing;         // ranks below the world size without any dump
  std::vector<RankMoment> moments;  // in order
  size_t compared = 0;              // index of the moment that is compared: the last one with the most members
  bool stages = false;              // a process group of pipeline stages separates peers
  std::vector<std::string> other_jobs;
  size_t other_job_dumps = 0;     // dumps that were left out: of other jobs,
  size_t earlier_run_dumps = 0;   // of earlier processes of the same rank,
  size_t without_rank_dumps = 0;  // of processes without a rank, where others have one
};

// `job`: which one of several; "": the one that was started last. Throws BadInput where no dump is of that job.
RankJob find_job(const std::vector<RankDump>& dumps, const std::string& job);

}  // namespace tensorscope::analyzer
