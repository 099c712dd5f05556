// SPDX-License-Identifier: Apache-2.0
// Tensors that the program has no use for any more and that are still there: in unreachable cycles, in the frames of an
// exception that somebody keeps. One dump is enough.
#include <algorithm>
#include <map>

#include "leaks/kept_share.h"
#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRoot;

constexpr uint64_t kMinBytes = 64 << 10;  // a little garbage is always there until the collector's next run

// Tensors of a dump that Python refers to from such roots alone, by the root's scope. What is unreachable is in a
// cycle, though it leads through an exception's frames: an error that a variable of its own frame keeps.
std::map<std::string, std::vector<uint32_t>> held_only_from(const View& view, ReferenceRoot root) {
  std::map<std::string, std::vector<uint32_t>> result;
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    std::string scope;
    bool any = false, other = false;
    for (const Reference& row : view.dump.references.of(i)) {
      if (!holds(row)) continue;
      any = true;
      if (ReferenceRoot(row.root) == root) {
        scope = row.scope;
      } else {
        other = true;
      }
    }
    const bool garbage =
        view.dump.references.present && view.dump.references.tensors[i].state == uint8_t(format::WrapperState::garbage);
    const bool in_cycle = root == ReferenceRoot::cycle;
    if (garbage ? in_cycle : any && !other) {
      if (view.selection.tensor(i)) result[scope].push_back(i);
    }
  }
  return result;
}

// "(train.py: last" of "OSError in open_file (train.py: last.__cause__.__context__)": who keeps the first exception of
// a chain.
std::string keeper_of_chain(const std::string& scope) {
  const size_t open = scope.find(" (");
  if (open == std::string::npos) return scope;
  return scope.substr(
      open, std::min({scope.find(".__context__", open), scope.find(".__cause__", open), scope.size() - 1}) - open);
}

// One name for each chain of exceptions: that of its first.
class ChainNames {
 public:
  void add(const std::string& scope, uint64_t bytes) {
    Chain& chain = chains_[keeper_of_chain(scope)];
    if (chain.name.empty() || scope.size() < chain.name.size()) chain.name = scope;
    chain.bytes += bytes;
  }
  size_t size() const { return chains_.size(); }
  std::string text() const {
    std::vector<WeighedName> names;
    for (const auto& [keeper, chain] : chains_) names.emplace_back(chain.name, chain.bytes);
    return merged_names(names);
  }

 private:
  struct Chain {
    std::string name;
    uint64_t bytes = 0;
  };
  std::map<std::string, Chain> chains_;
};

// What such roots keep: one finding for all of them, with the names of their scopes. Nothing if it is little.
std::optional<LeakFinding> held_from(const LeakAnalysis& analysis, ReferenceRoot root,
                                     std::vector<std::vector<uint32_t>>* kept_in) {
  LeakFinding finding;
  ChainNames scopes;
  for (auto& [scope, tensors] : held_only_from(analysis.last(), root)) {
    // A cycle through the autograd graph says better what to do.
    std::erase_if(tensors, [&](uint32_t tensor) { return analysis.explained(tensor); });
    if (tensors.empty()) continue;
    scopes.add(scope, analysis.retention().only_by(tensors).bytes);
  }
  if (scopes.size() == 0) return std::nullopt;
  finding.holders = {scopes.text()};
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    std::vector<uint32_t> tensors;
    for (const auto& [scope, some] : held_only_from(analysis.view(i), root)) {
      tensors.insert(tensors.end(), some.begin(), some.end());
    }
    Retained kept = analysis.retention(i).only_by(tensors);
    finding.growth.count.push_back(kept.tensors.size());
    finding.growth.bytes.push_back(kept.bytes);
    if (kept_in != nullptr) kept_in->push_back(kept.tensors);
    if (i + 1 == analysis.dumps()) finding.tensors = std::move(kept.tensors);
  }
  finding.bytes = finding.growth.bytes.back();
  if (finding.bytes < kMinBytes) return std::nullopt;
  if (scopes.size() > 1) finding.evidence.push_back({FactKind::holders, {scopes.size()}});
  finding.evidence.push_back({FactKind::retained_tensors, finding.growth.count});
  finding.evidence.push_back({FactKind::retained, finding.growth.bytes});
  finding.site = analysis.site_of(finding.tensors);
  return finding;
}

// Python's garbage collector frees cycles a few steps after they became garbage, or never where it is switched off or
// has seen them too often. Nearly all that an earlier dump has is then in the last one, too; without such a dump, most
// of what was ever allocated there is alive.
bool stays(const LeakAnalysis& analysis, const LeakFinding& finding,
           const std::vector<std::vector<uint32_t>>& kept_in) {
  bool earlier = false;
  for (size_t i = 0; i + 1 < analysis.dumps(); ++i) {
    if (finding.growth.bytes[i] < kMinBytes) continue;
    earlier = true;
    if (!nearly_all_stay(analysis, i, kept_in[i], kept_in.back())) return false;
  }
  return earlier || mostly_kept(count_created(analysis, finding.tensors));
}

}  // namespace

std::optional<LeakFinding> unreachable_cycles(const LeakAnalysis& analysis, bool that_stay) {
  std::vector<std::vector<uint32_t>> kept_in;
  std::optional<LeakFinding> finding = held_from(analysis, ReferenceRoot::cycle, &kept_in);
  if (!finding || (that_stay && !stays(analysis, *finding, kept_in))) return std::nullopt;
  finding->kind = LeakKind::reference_cycle;
  // There what a trainer and its model refer to is garbage once the function that made them has returned.
  const bool at_exit = format::Trigger(analysis.last().dump.process.trigger) == format::Trigger::exit;
  finding->advice = at_exit ? Advice::cycle_at_exit : Advice::break_cycle;
  return finding;
}

void find_cycles(LeakAnalysis& analysis) {
  std::optional<LeakFinding> finding = unreachable_cycles(analysis, /*that_stay=*/true);
  if (!finding) return;
  // What a program leaves behind as it ends says nothing of what it kept while it ran.
  if (finding->advice == Advice::cycle_at_exit && analysis.dumps() == 1)
    return analysis.add_remark(Remark::Reason::waits_for_collector, std::move(*finding));
  analysis.add(std::move(*finding));
}

void find_tracebacks(LeakAnalysis& analysis) {
  std::optional<LeakFinding> finding = held_from(analysis, ReferenceRoot::traceback, nullptr);
  if (!finding) return;
  finding->kind = LeakKind::traceback;
  finding->advice = Advice::drop_traceback;
  analysis.add(std::move(*finding));
}

}  // namespace tensorscope::analyzer
