// SPDX-License-Identifier: Apache-2.0
#include "leaks/child_processes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace tensorscope::analyzer {

namespace {

// Whether every other process is a child of this one, or a child's child. A process in between need not have a dump if
// this one asked for theirs.
bool leads_to_all(const Process& root, const std::vector<const Process*>& all) {
  std::set<uint32_t> known = {root.pid};
  for (size_t rounds = 0; rounds < all.size(); ++rounds) {
    for (const Process* each : all) {
      const bool asked = !each->asked_by_run.empty() && each->asked_by_run == root.run_id;
      if (asked || known.contains(each->parent_pid) || known.contains(each->forked_from)) known.insert(each->pid);
    }
  }
  return std::ranges::all_of(all,
                             [&](const Process* each) { return known.contains(each->pid) && each->host == root.host; });
}

bool same_leak(const LeakFinding& a, const LeakFinding& b) {
  return a.of_children && b.of_children && a.kind == b.kind && a.holders == b.holders &&
         a.of_children->place.where == b.of_children->place.where && a.growth.bytes.size() == b.growth.bytes.size();
}

void add_to(LeakFinding& sum, const LeakFinding& other) {
  sum.of_children->processes.push_back(other.of_children->processes.front());
  sum.bytes += other.bytes;
  for (size_t i = 0; i < sum.growth.bytes.size(); ++i) {
    sum.growth.bytes[i] += other.growth.bytes[i];
    sum.growth.count[i] += other.growth.count[i];
  }
}

}  // namespace

ProcessFamily family_of(std::vector<Dump> dumps) {
  std::map<std::string, std::vector<size_t>> runs;
  for (size_t i = 0; i < dumps.size(); ++i) runs[dumps[i].process.run_id].push_back(i);
  std::vector<const Process*> all;
  for (const auto& [run, members] : runs) all.push_back(&dumps[members.front()].process);
  const auto root = std::ranges::find_if(all, [&](const Process* each) { return leads_to_all(*each, all); });
  ProcessFamily family;
  if (all.size() < 2 || root == all.end()) {
    family.parent = std::move(dumps);
    return family;
  }
  const std::string parent_run = (*root)->run_id;
  for (const auto& [run, members] : runs) {
    std::vector<Dump>& process = run == parent_run ? family.parent : family.children.emplace_back();
    for (const size_t i : members) process.push_back(std::move(dumps[i]));
  }
  return family;
}

void add_findings_of_child(Leaks& leaks, const std::vector<View>& views, Leaks child) {
  const View& last = views.back();
  for (LeakFinding& finding : child.findings) {
    OfChildren& origin = finding.of_children.emplace();
    origin.processes = {last.dump.process.pid};
    origin.first = views.front().dump.path;
    if (finding.site != 0) {
      origin.place = last.places.at(finding.site);
      origin.source = last.places.source_line(finding.site);
    }
    // Numbers of the child's dump mean nothing in the parent's.
    finding.site = finding.closed_at = 0;
    finding.tensors.clear();
    finding.shared.clear();
    finding.memory.clear();
    const auto same =
        std::ranges::find_if(leaks.findings, [&](const LeakFinding& other) { return same_leak(other, finding); });
    if (same == leaks.findings.end()) {
      leaks.findings.push_back(std::move(finding));
    } else {
      add_to(*same, finding);
    }
  }
}

// A child that writes dumps from its parent's second one on has an interval less.
void leave_out_explained_children(Leaks& leaks) {
  const auto each_interval = [](const LeakFinding& finding) {
    return finding.growth.added_bytes() / std::max<int64_t>(int64_t(finding.growth.bytes.size()) - 1, 1);
  };
  int64_t found = 0;
  for (const LeakFinding& finding : leaks.findings) {
    if (finding.of_children) found += each_interval(finding);
  }
  const auto explained = [&](const LeakFinding& finding) {
    return finding.kind == LeakKind::child_processes && found > 0 && found * 2 >= each_interval(finding);
  };
  // Children copy pages of their parent as they write to them, also for a dump: that it ends is no answer beside one.
  std::erase_if(leaks.remarks,
                [&](const Remark& remark) { return found > 0 && remark.what.kind == LeakKind::child_processes; });
  leaks.sort_findings([&](const LeakFinding& finding) { return !explained(finding); });
}

}  // namespace tensorscope::analyzer
