// SPDX-License-Identifier: Apache-2.0
// Local variables of more and more calls of one function that do not end: threads that wait for ever, generators that
// nobody closes. Each call has its own variable of the same name.
#include <algorithm>
#include <map>
#include <utility>

#include "leaks/kept_share.h"
#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRoot;

bool in_a_call(const Series& series) {
  const auto root = ReferenceRoot(series.example.root);
  return !series.container && (root == ReferenceRoot::local || root == ReferenceRoot::suspended);
}

// Calls that return are followed by others, whose tensors are new. Nearly all that one dump has are in the last one,
// too.
bool stay(const LeakAnalysis& analysis, const Series& series) {
  for (size_t i = 0; i + 1 < analysis.dumps(); ++i) {
    if (!nearly_all_stay(analysis, i, series.members[i], series.members.back())) return false;
  }
  return true;
}

// Several variables of the same calls are one finding.
struct Function {
  std::vector<const Series*> variables;  // the most bytes first
  std::vector<uint64_t> calls;           // one a dump, at least so many
  std::vector<std::vector<uint32_t>> members;
};

void add_finding(LeakAnalysis& analysis, Function& function) {
  LeakFinding finding;
  finding.kind = LeakKind::unfinished_calls;
  std::stable_sort(function.variables.begin(), function.variables.end(),
                   [](const Series* a, const Series* b) { return a->growth.bytes.back() > b->growth.bytes.back(); });
  for (const Series* variable : function.variables) finding.holders.push_back(analysis.label(*variable));
  const bool waits = ReferenceRoot(function.variables.front()->example.root) == ReferenceRoot::suspended;
  finding.advice = waits ? Advice::close_generators : Advice::end_threads;
  Retained kept;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    std::vector<uint32_t>& members = function.members[i];
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    kept = analysis.retention(i).only_by(members);
    finding.growth.count.push_back(members.size());
    finding.growth.bytes.push_back(std::max(analysis.bytes_of(i, members), kept.bytes));
  }
  const std::vector<uint32_t>& members = function.members.back();
  for (uint32_t tensor : members) finding.growth.kept.push_back(analysis.last().dump.tensors[tensor].serial);
  const int64_t things = finding.growth.added();
  if (finding.growth.added_bytes() + things * int64_t(kObjectBytes) < int64_t(kMinGrowth)) return;
  finding.bytes = finding.growth.bytes.back();
  finding.site = analysis.site_of(members);
  finding.evidence = {
      {FactKind::unfinished_calls, function.calls}, {FactKind::retained, {kept.bytes}}, {FactKind::calls_stay}};
  finding.tensors = std::move(kept.tensors);
  finding.tensors.insert(finding.tensors.end(), members.begin(), members.end());
  analysis.add(std::move(finding), analysis.retention().nodes_below(analysis.retention().nodes_of(members)));
}

}  // namespace

void find_unfinished_calls(LeakAnalysis& analysis) {
  if (analysis.dumps() < 2) return;
  std::map<std::pair<uint8_t, std::string>, Function> functions;
  for (const Series& series : analysis.series()) {
    if (!in_a_call(series) || analysis.explained(series.members.back())) continue;
    if (!grows(series.growth.count) || !analysis.timeline().spread(series.growth.kept) || !stay(analysis, series))
      continue;
    Function& function = functions[{series.example.root, series.example.scope}];
    function.variables.push_back(&series);
    function.calls.resize(analysis.dumps());
    function.members.resize(analysis.dumps());
    for (size_t i = 0; i < analysis.dumps(); ++i) {
      function.calls[i] = std::max<uint64_t>(function.calls[i], series.members[i].size());
      function.members[i].insert(function.members[i].end(), series.members[i].begin(), series.members[i].end());
    }
  }
  for (auto& [key, function] : functions) {
    if (!analysis.explained(function.members.back())) add_finding(analysis, function);
  }
}

}  // namespace tensorscope::analyzer
