// SPDX-License-Identifier: Apache-2.0
// Containers that only grow, and storages that only C++ holds and that become more.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "leaks/forms.h"
#include "leaks/grown_containers.h"
#include "leaks/leak_analysis.h"
#include "leaks/narrowed.h"
#include "leaks/second_owners.h"
#include "leaks/step_ends.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRoot;

bool enough(int64_t bytes, int64_t things) { return bytes + things * int64_t(kObjectBytes) >= int64_t(kMinGrowth); }

// What its entries retain grows by enough: a sparse tensor has no memory, its parts have.
bool retains_enough(const LeakAnalysis& analysis, const Series& series) {
  const uint64_t before = analysis.retention(0).only_by(series.members.front()).bytes;
  const uint64_t now = analysis.retention().only_by(series.members.back()).bytes;
  return enough(int64_t(now) - int64_t(before), series.growth.added());
}

// "cache[...]" of one of torch's modules or "Net.cache[...]" of a class; a list of the program is a container.
bool of_module(const Series& series) {
  const auto root = ReferenceRoot(series.example.root);
  const bool direct = series.example.text.find('.') > series.example.text.find('[');
  return root == ReferenceRoot::class_ ||
         (root == ReferenceRoot::global && direct && category::of_torch(series.example.scope));
}

// What is made of C++ alone in one dump: tensors by place, and blocks that no tensor refers to.
struct CppOnly {
  std::vector<uint32_t> tensors;
  uint64_t count = 0, bytes = 0;
  uint64_t ended_count = 0, ended_bytes = 0;  // without what the step that runs has made
  std::vector<uint64_t> serials;
  uint32_t site = 0;
};

std::map<std::string, CppOnly> held_by_cpp(const LeakAnalysis& analysis, size_t dump) {
  const View& view = analysis.view(dump);
  const uint64_t since = running_since(view.dump);
  const auto of_ended_step = [&](uint64_t serial) { return since == 0 || serial <= since; };
  std::map<std::string, CppOnly> places;
  for (uint32_t i = 0; i < view.dump.tensors.size(); ++i) {
    if (!analysis.retention(dump).cpp_only(i) || !view.selection.tensor(i)) continue;
    const uint32_t site = effective_site(view.dump, view.accounts, view.places, i);
    CppOnly& place = places[view.places.at(site).where];
    place.tensors.push_back(i);
    place.count += 1;
    place.ended_count += of_ended_step(view.dump.tensors[i].serial);
    place.serials.push_back(view.dump.tensors[i].serial);
    place.site = site;
  }
  for (auto& [where, place] : places) {
    place.bytes = analysis.bytes_of(dump, place.tensors);
    std::vector<uint32_t> ended;
    std::ranges::copy_if(place.tensors, std::back_inserter(ended),
                         [&](uint32_t tensor) { return of_ended_step(view.dump.tensors[tensor].serial); });
    place.ended_bytes = analysis.bytes_of(dump, ended);
  }
  for (uint32_t i = 0; i < view.accounts.items().size(); ++i) {
    const Item& item = view.accounts.items()[i];
    if (item.storage != kNone || item.allocation == kNone || !view.selection.item(i)) continue;
    CppOnly& place = places[view.places.at(item.site).where];
    const uint64_t serial = view.dump.allocations[item.allocation].serial;
    place.count += 1;
    place.bytes += item.bytes;
    place.ended_count += of_ended_step(serial);
    place.ended_bytes += of_ended_step(serial) ? item.bytes : 0;
    place.serials.push_back(serial);
    place.site = item.site;
  }
  return places;
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
    if (!enough(series.growth.added_bytes(), series.growth.added()) && !retains_enough(analysis, series)) continue;
    find_container(analysis, narrowed(analysis, series));
  }
}

void find_cpp_storage(LeakAnalysis& analysis) {
  const bool no_python = analysis.last().dump.process.python_version.empty();
  if (analysis.dumps() < 2 || (!analysis.retention().known() && !no_python)) return;
  std::vector<std::map<std::string, CppOnly>> dumps;
  for (size_t i = 0; i < analysis.dumps(); ++i) dumps.push_back(held_by_cpp(analysis, i));
  for (auto& [where, place] : dumps.back()) {
    Growth growth, ended;
    for (auto& places : dumps) {
      const auto found = places.find(where);
      const CppOnly of_dump = found == places.end() ? CppOnly() : found->second;
      growth.count.push_back(of_dump.count);
      growth.bytes.push_back(of_dump.bytes);
      ended.count.push_back(of_dump.ended_count);
      ended.bytes.push_back(of_dump.ended_bytes);
    }
    growth.kept = place.serials;
    const bool between_steps = take_ended_steps(growth, ended);
    if (!analysis.timeline().is_accumulating(growth) || !enough(growth.added_bytes(), growth.added())) continue;
    if (!place.tensors.empty() && analysis.explained(place.tensors)) continue;
    if (growth.added_bytes() == 0 && profiler_is_on(analysis.views())) continue;
    // What came with the objects of a finding and lies in their C++ parts, as weights that were packed.
    LeakFinding* with = analysis.finding_made_at(where);
    if (with != nullptr && with->growth.added_bytes() >= growth.added_bytes()) {
      with->evidence.push_back({FactKind::cpp_tensors, {place.tensors.size()}});
      continue;
    }
    LeakFinding finding;
    finding.kind = LeakKind::cpp_only;
    if (between_steps) finding.evidence.push_back({FactKind::of_ended_steps});
    finding.advice = Advice::bound_cpp;
    finding.bytes = growth.bytes.back();
    finding.site = place.site;
    const uint64_t tensors = place.tensors.size(), blocks = place.count - tensors;
    if (tensors > 0) {
      finding.evidence.push_back({FactKind::cpp_tensors, {tensors}});
    }
    if (blocks > 0) finding.evidence.push_back({FactKind::cpp_blocks, {blocks}});
    for (const ContainerGrowth& container : containers_in_step(analysis.views(), growth.count)) {
      finding.holders.push_back(container.name);
      finding.evidence.push_back({FactKind::in_step, container.cpp_objects, container.name_with_cpp_type()});
      finding.advice = Advice::bound_cpp_objects;
    }
    finding.growth = std::move(growth);
    finding.tensors = std::move(place.tensors);
    analysis.add(std::move(finding));
  }
}

}  // namespace tensorscope::analyzer
