// SPDX-License-Identifier: Apache-2.0
#include "ranks/job.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "dump/reader.h"

namespace tensorscope::analyzer {

namespace {

// One process image.
struct RankProcess {
  const Process* facts = nullptr;  // of its first dump
  std::vector<uint32_t> dumps;
};

bool earlier(const RankDump& a, const RankDump& b) {
  return std::tie(a.process.dump_unix_ns, a.process.dump_number) <
         std::tie(b.process.dump_unix_ns, b.process.dump_number);
}

std::vector<RankProcess> processes_of(const std::vector<RankDump>& dumps, const std::vector<uint32_t>& chosen) {
  std::map<std::tuple<std::string, std::string, uint32_t>, RankProcess> by_run;
  for (const uint32_t i : chosen) {
    const Process& p = dumps[i].process;
    RankProcess& process = by_run[{p.run_id, p.host, p.pid}];
    if (process.facts == nullptr) process.facts = &p;
    process.dumps.push_back(i);
  }
  std::vector<RankProcess> out;
  for (auto& [key, process] : by_run) {
    std::sort(process.dumps.begin(), process.dumps.end(),
              [&](uint32_t a, uint32_t b) { return earlier(dumps[a], dumps[b]); });
    out.push_back(std::move(process));
  }
  std::stable_sort(out.begin(), out.end(), [](const RankProcess& a, const RankProcess& b) {
    return std::tie(a.facts->start_unix_ns, a.facts->pid) < std::tie(b.facts->start_unix_ns, b.facts->pid);
  });
  return out;
}

// The process of the same rank that started this one, directly or not; kNone: none of them did.
uint32_t employer(const std::vector<RankProcess>& processes, uint32_t of) {
  const Process& worker = *processes[of].facts;
  for (uint32_t i = 0; i < processes.size(); ++i) {
    const Process& other = *processes[i].facts;
    if (i == of || other.host != worker.host || other.rank != worker.rank) continue;
    const bool child = other.pid == worker.parent_pid || (worker.forked_from != 0 && other.pid == worker.forked_from);
    if (!child || other.start_unix_ns > worker.start_unix_ns || other.pid == worker.pid) continue;
    const uint32_t above = employer(processes, i);
    return above == kNone ? i : above;
  }
  return kNone;
}

// Returns the dumps of the wanted job, and counts the others.
std::vector<uint32_t> dumps_of_job(const std::vector<RankDump>& dumps, const std::string& wanted, RankJob& out) {
  std::map<std::string, uint64_t> started;
  for (const RankDump& dump : dumps) {
    uint64_t& last = started[dump.process.job];
    last = std::max(last, dump.process.start_unix_ns);
  }
  if (!wanted.empty() && started.count(wanted) == 0) {
    std::string names;
    for (const auto& [name, when] : started) names += (names.empty() ? "" : ", ") + (name.empty() ? "(none)" : name);
    throw BadInput("no dump of job '" + wanted + "'; there are: " + names + ".");
  }
  out.name = wanted;
  if (wanted.empty() && !started.empty()) {
    const auto later = [](const auto& a, const auto& b) { return a.second < b.second; };
    out.name = std::max_element(started.begin(), started.end(), later)->first;
  }
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < dumps.size(); ++i) {
    if (dumps[i].process.job == out.name) {
      chosen.push_back(i);
    } else {
      ++out.other_job_dumps;
    }
  }
  for (const auto& [name, when] : started) {
    if (name != out.name) out.other_jobs.push_back(name);
  }
  return chosen;
}

void find_members(const std::vector<RankDump>& dumps, const std::vector<RankProcess>& processes, RankJob& job) {
  const bool ranked = std::any_of(processes.begin(), processes.end(),
                                  [](const RankProcess& process) { return process.facts->rank >= 0; });
  std::map<int, uint32_t> newest;        // by rank: its process
  std::map<uint32_t, uint32_t> workers;  // process: whose worker it is
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < processes.size(); ++i) {
    const RankProcess& process = processes[i];
    job.world_size = std::max(job.world_size, process.facts->world_size);
    if (ranked && process.facts->rank < 0) {
      job.without_rank_dumps += process.dumps.size();
      continue;
    }
    const uint32_t above = ranked ? employer(processes, i) : kNone;
    if (above != kNone) {
      workers[i] = above;
    } else if (!ranked) {
      chosen.push_back(i);
    } else {
      const auto [before, fresh] = newest.try_emplace(process.facts->rank, i);
      if (!fresh) job.earlier_run_dumps += processes[std::exchange(before->second, i)].dumps.size();
    }
  }
  for (const auto& [rank, process] : newest) chosen.push_back(process);
  for (const uint32_t i : chosen) {
    const RankProcess& process = processes[i];
    RankMember& member = job.members.emplace_back();
    member.rank = process.facts->rank;
    member.pid = process.facts->pid;
    member.host = process.facts->host;
    member.dumps = process.dumps;
    for (const auto& [worker, above] : workers) {
      if (above == i) member.workers.push_back(processes[worker].dumps.back());
    }
  }
  for (const auto& [worker, above] : workers) {
    if (std::find(chosen.begin(), chosen.end(), above) == chosen.end()) {
      job.earlier_run_dumps += processes[worker].dumps.size();
    }
  }
  for (int rank = 0; ranked && rank < job.world_size; ++rank) {
    if (newest.count(rank) == 0) job.missing.push_back(rank);
  }
}

// Pipeline stages hold different parts of a model: only ranks of one stage can be compared. By the names that programs
// give to the dimension of a DeviceMesh.
bool is_pipeline(const std::string& dimension) {
  for (const char* name : {"pp", "pipe", "pipeline", "stage"}) {
    if (dimension == name) return true;
  }
  return false;
}

void find_peers(const std::vector<RankDump>& dumps, RankJob& job) {
  for (RankMember& member : job.members) {
    for (const uint32_t dump : member.dumps) {
      for (const ProcessGroup& group : dumps[dump].groups) {
        const auto at = std::find(group.ranks.begin(), group.ranks.end(), member.rank);
        if (!is_pipeline(group.mesh_dimension) || at == group.ranks.end() || group.ranks.size() < 2) continue;
        member.peers = uint32_t(at - group.ranks.begin());
        job.stages = true;
      }
    }
  }
}

void find_moments(const std::vector<RankDump>& dumps, RankJob& job) {
  const size_t size = job.members.size();
  const auto counts = [&](uint32_t dump) { return !dumps[dump].at_exit() && !dumps[dump].failure; };
  bool steps = true, any = false;
  for (const RankMember& member : job.members) {
    for (const uint32_t dump : member.dumps) {
      if (!counts(dump)) continue;
      any = true;
      steps = steps && dumps[dump].process.step >= 0;
    }
  }
  if (!any) {
    RankMoment& last = job.moments.emplace_back(RankMoment{RankMoment::Kind::last, 0, {}});
    for (const RankMember& member : job.members) last.dump_of.push_back(member.dumps.back());
    return;
  }
  std::map<int64_t, RankMoment> moments;
  for (uint32_t i = 0; i < size; ++i) {
    int64_t number = 0;
    for (const uint32_t dump : job.members[i].dumps) {
      if (!counts(dump)) continue;
      const int64_t value = steps ? dumps[dump].process.step : ++number;
      RankMoment& moment = moments[value];
      moment.kind = steps ? RankMoment::Kind::step : RankMoment::Kind::number;
      moment.value = value;
      moment.dump_of.resize(size, kNone);
      moment.dump_of[i] = dump;
    }
  }
  for (auto& [value, moment] : moments) job.moments.push_back(std::move(moment));
  for (size_t i = 0; i < job.moments.size(); ++i) {
    if (job.moments[i].members() >= job.moments[job.compared].members()) job.compared = i;
  }
}

}  // namespace

size_t RankMoment::members() const {
  return size_t(std::count_if(dump_of.begin(), dump_of.end(), [](uint32_t dump) { return dump != kNone; }));
}

RankJob find_job(const std::vector<RankDump>& dumps, const std::string& name) {
  RankJob job;
  const std::vector<RankProcess> processes = processes_of(dumps, dumps_of_job(dumps, name, job));
  find_members(dumps, processes, job);
  find_peers(dumps, job);
  if (!job.members.empty()) find_moments(dumps, job);
  return job;
}

}  // namespace tensorscope::analyzer
