// SPDX-License-Identifier: Apache-2.0
#include "leaks/child_processes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "leaks/forms.h"

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
  return a.of_children && b.of_children && a.kind == b.kind &&
         std::ranges::equal(a.holders, b.holders, {}, with_any_index, with_any_index) &&
         a.of_children->place.where == b.of_children->place.where && a.growth.bytes.size() == b.growth.bytes.size();
}

void add_to(LeakFinding& sum, const LeakFinding& other) {
  for (size_t i = 0; i < sum.holders.size(); ++i) {
    if (sum.holders[i] != other.holders[i]) sum.holders[i] = with_any_index(sum.holders[i]);
  }
  sum.of_children->processes.push_back(other.of_children->processes.front());
  sum.bytes += other.bytes;
  for (size_t i = 0; i < sum.growth.bytes.size(); ++i) {
    sum.growth.bytes[i] += other.growth.bytes[i];
    sum.growth.count[i] += other.growth.count[i];
  }
}

// In which step of the parent a dump of the child's was written, and in which the child began; nothing where that is
// not known.
std::optional<uint64_t> step_of_dump(const Process& child, const std::vector<View>& parent) {
  for (const View& view : parent) {
    const Process& asked_by = view.dump.process;
    if (asked_by.run_id == child.asked_by_run && asked_by.dump_number == child.asked_by_dump && asked_by.step >= 0)
      return uint64_t(asked_by.step);
  }
  return std::nullopt;
}
std::optional<uint64_t> step_at(uint64_t ns, const View& parent) {
  const std::vector<HistoryPoint>& points = parent.dump.history.points;
  if (points.empty() || parent.dump.process.start_ns > ns) return std::nullopt;
  const auto later = std::ranges::upper_bound(points, ns, {}, &HistoryPoint::ns);
  return later == points.begin() ? 0 : std::prev(later)->step;
}

// Each interval has as many a step as the others, but for a quarter.
bool as_many_a_step(const std::array<uint64_t, 3>& counts, const std::array<uint64_t, 3>& steps) {
  if (steps[1] <= steps[0] || steps[2] <= steps[1] || counts[2] <= counts[1]) return false;
  const double first = double(counts[1] - counts[0]) / double(steps[1] - steps[0]);
  const double second = double(counts[2] - counts[1]) / double(steps[2] - steps[1]);
  return std::min(first, second) * 4 >= std::max(first, second) * 3;
}

}  // namespace

void confirm_since_beginning(Leaks& child, const std::vector<View>& views, const std::vector<View>& parent) {
  if (views.size() != 2 || parent.empty()) return;
  const std::optional<uint64_t> begin = step_at(views.front().dump.process.start_ns, parent.back()),
                                first = step_of_dump(views.front().dump.process, parent),
                                last = step_of_dump(views.back().dump.process, parent);
  if (!begin || !first || !last) return;
  const auto goes_on = [&](Remark& remark) {
    const std::vector<uint64_t>& count = remark.what.growth.count;
    if (remark.reason != Remark::Reason::one_interval || remark.what.counts != LeakFinding::Counts::entries)
      return false;
    if (!as_many_a_step({0, count.front(), count.back()}, {*begin, *first, *last})) return false;
    remark.what.evidence.insert(remark.what.evidence.begin(), {FactKind::since_beginning});
    return true;
  };
  const auto confirmed = std::ranges::stable_partition(child.remarks, [&](Remark& remark) { return !goes_on(remark); });
  for (Remark& remark : confirmed) child.findings.push_back(std::move(remark.what));
  child.remarks.erase(confirmed.begin(), confirmed.end());
}

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
  // Children copy pages of their parent as they write to them, also for a dump: what grew so is no part of the answer,
  // and that it ends is none beside one.
  const auto of_children = [](FactKind kind) {
    return kind == FactKind::children_private || kind == FactKind::children_resident;
  };
  ProcessGrowth& process = leaks.process;
  std::erase_if(process.parts, [&](const Fact& part) { return of_children(part.kind); });
  if (process.grew_most && of_children(*process.grew_most)) process.grew_most.reset();
  std::erase_if(leaks.remarks,
                [&](const Remark& remark) { return found > 0 && remark.what.kind == LeakKind::child_processes; });
  leaks.sort_findings([&](const LeakFinding& finding) { return !explained(finding); });
}

}  // namespace tensorscope::analyzer
