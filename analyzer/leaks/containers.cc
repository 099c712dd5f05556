// SPDX-License-Identifier: Apache-2.0
// Containers that only grow.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "leaks/forms.h"
#include "leaks/leak_analysis.h"
#include "leaks/narrowed.h"
#include "leaks/second_owners.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRoot;

// What its entries retain grows by enough: a sparse tensor has no memory, its parts have.
bool retains_enough(const LeakAnalysis& analysis, const Series& series) {
  const uint64_t before = analysis.retention(0).only_by(series.members.front()).bytes;
  const uint64_t now = analysis.retention().only_by(series.members.back()).bytes;
  return weighs_enough(int64_t(now) - int64_t(before), series.growth.added());
}

// "cache[...]" of one of torch's modules or "Net.cache[...]" of a class; a list of the program is a container.
bool of_module(const Series& series) {
  const auto root = ReferenceRoot(series.example.root);
  const bool direct = series.example.text.find('.') > series.example.text.find('[');
  return root == ReferenceRoot::class_ ||
         (root == ReferenceRoot::global && direct && category::of_torch(series.example.scope));
}

// What the graphs of these tensors saved.
std::vector<uint32_t> saved_below(const Retention& retention, const std::vector<uint32_t>& members) {
  return retention.saved_by(retention.nodes_below(retention.nodes_of(members)));
}

// Handlers of one function, each of which keeps some of these tensors: several tensors have the very same name. In a
// container that one handler keeps each has an index of its own.
bool of_many_handlers(const LeakAnalysis& analysis, const Series& series) {
  if (!series.of_atexit()) return false;
  std::map<std::string, size_t> tensors_of;
  size_t tensors = 0;
  for (uint32_t tensor : series.members.back()) {
    for (const Reference& row : analysis.last().dump.references.of(tensor)) {
      if (!kept_by_atexit(row) || !names_one(row.text)) continue;
      ++tensors_of[row.text];
      ++tensors;
    }
  }
  return tensors >= 2 * tensors_of.size() && tensors > 0;
}

// In how many threads a threading.local keeps any of these; threads of a pool live on, and what each keeps may grow.
bool threads_become_more(const LeakAnalysis& analysis, const Series& series) {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    std::set<std::string> threads;
    for (const uint32_t tensor : series.members[i]) {
      for (const Reference& row : analysis.view(i).dump.references.of(tensor)) {
        if (same_form(row, series)) threads.insert(row.scope);
      }
    }
    counts.push_back(threads.size());
  }
  return grows(counts);
}

void find_container(LeakAnalysis& analysis, const Series& series) {
  const std::vector<uint32_t>& members = series.members.back();
  LeakFinding finding;
  finding.kind = of_module(series) ? LeakKind::module_cache : LeakKind::container;
  finding.holders = {analysis.label(series)};
  finding.places = analysis.places_of(series);
  finding.advice = of_module(series) ? Advice::bound_cache : Advice::bound_container;
  const size_t left = series.growth.first.size() - count_surviving(series.growth.first, series.growth.kept);
  // A few that were there by chance, as what the step worked with, are no sign of it.
  constexpr int64_t kMost = 8;
  const bool backlog = left * 2 > series.growth.first.size() && int64_t(left) * kMost > series.growth.added();
  if (backlog) finding.advice = Advice::bound_backlog;
  if (of_many_handlers(analysis, series)) finding.advice = Advice::unregister_handlers;
  const auto root = ReferenceRoot(series.example.root);
  const bool more = grows(series.beginning_counts);
  const bool threads = series.of_many_threads() && threads_become_more(analysis, series);
  if (threads || (more && root == ReferenceRoot::local)) finding.advice = Advice::end_threads;
  if (more && root == ReferenceRoot::suspended) finding.advice = Advice::close_generators;
  if (more && series.of_many_modules()) finding.advice = Advice::forget_modules;
  if (more && root == ReferenceRoot::extension) finding.advice = Advice::release_from_c;
  finding.growth = series.growth;
  // What its entries retain is larger than they are where they have graphs, and less where others hold them, too.
  Retained kept;
  std::vector<uint64_t> graph_too;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    kept = analysis.retention(i).only_by(series.members[i]);
    finding.growth.bytes[i] = std::max(series.growth.bytes[i], kept.bytes);
    std::vector<uint32_t> all = saved_below(analysis.retention(i), series.members[i]);
    all.insert(all.end(), series.members[i].begin(), series.members[i].end());
    graph_too.push_back(analysis.bytes_of(i, all));
  }
  // A variable of the current step leads to the same graphs, which stay when it goes.
  const bool shared = graph_too.back() > graph_too.front() && int64_t(graph_too.back() - graph_too.front()) >
                                                                  finding.growth.added_bytes() + int64_t(kMinGrowth);
  if (shared) finding.growth.bytes = graph_too;
  // Parameters keep gradients, which are no graphs.
  const std::vector<uint32_t> own = analysis.retention().without_graph(members);
  const uint64_t graphs = kept.bytes - std::min(analysis.bytes_of(analysis.dumps() - 1, own), kept.bytes);
  if (graphs >= kMinGrowth) finding.graph_bytes = graphs;
  finding.bytes = finding.growth.bytes.back();
  finding.site = analysis.site_of(members);
  finding.evidence = {{FactKind::entries, series.growth.count}, {FactKind::retained, {kept.bytes}}};
  finding.evidence.push_back(left > 0 ? Fact{FactKind::entries_that_left, {left}}
                                      : Fact{FactKind::every_interval_kept});
  if (shared) {
    finding.evidence.push_back({FactKind::shared_graph, graph_too});
    finding.shared = saved_below(analysis.retention(), members);
  }
  if (std::any_of(series.beginning_counts.begin(), series.beginning_counts.end(), [](uint64_t n) { return n > 1; })) {
    finding.evidence.push_back({FactKind::same_names, series.beginning_counts});
  }
  const std::vector<uint32_t> nodes = analysis.retention().nodes_of(members);
  if (!nodes.empty()) {
    finding.evidence.push_back({FactKind::entries_with_grad_fn, {nodes.size()}});
    finding.evidence.push_back({FactKind::graphs_of_entries, {graphs}});
  }
  note_second_owners(analysis, series, finding);
  // What goes away with it is explained by it, and a member whatever else holds it.
  finding.tensors = std::move(kept.tensors);
  finding.tensors.insert(finding.tensors.end(), members.begin(), members.end());
  analysis.add(std::move(finding), analysis.retention().nodes_below(nodes));
}

}  // namespace

void find_containers(LeakAnalysis& analysis) {
  if (analysis.dumps() < 2) return;
  for (const Series& series : analysis.containers()) {
    if (analysis.explained(series.members.back())) continue;
    if (!weighs_enough(series.growth.added_bytes(), series.growth.added()) && !retains_enough(analysis, series))
      continue;
    find_container(analysis, narrowed(analysis, series));
  }
}

}  // namespace tensorscope::analyzer
