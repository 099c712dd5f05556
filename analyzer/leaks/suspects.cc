// SPDX-License-Identifier: Apache-2.0
#include "leaks/suspects.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "leaks/added_entries.h"
#include "leaks/births.h"
#include "leaks/kept_share.h"
#include "leaks/larger_inputs.h"
#include "leaks/leak_analysis.h"
#include "leaks/module_calls.h"
#include "leaks/site_beginnings.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRoot;

// Whether what was created at even distances goes back to when the program can have been at its site first: more was
// freed there, but what is kept was never emptied. What is left of a queue or a buffer at its limit begins later.
bool kept_from_the_first(const LeakAnalysis& analysis, const std::vector<uint32_t>& tensors, uint32_t site,
                         const Births& births) {
  if (!births.even) return false;
  const uint64_t beginning = SiteBeginnings(analysis.last().dump).earliest_serial(site);
  uint64_t oldest = UINT64_MAX;
  for (uint32_t tensor : tensors) {
    const Item& item = analysis.last().accounts.items()[analysis.last().accounts.item_of_tensor(tensor)];
    if (item.site != site || item.allocation == kNone) continue;
    oldest = std::min(oldest, analysis.last().dump.allocations[item.allocation].serial);
  }
  return beginning != 0 && oldest != UINT64_MAX && oldest <= beginning + births.largest_gap;
}

bool weighs_enough(const Suspect& suspect) { return suspect.bytes + suspect.count * kObjectBytes >= kMinGrowth; }

void take(Suspect& suspect, const Births& births) {
  suspect.generations = births.generations;
  suspect.steps = births.steps;
  suspect.of_steps = births.of_steps;
  suspect.after_first_step = births.after_first_step;
  suspect.oldest_ns = births.oldest_ns;
  suspect.newest_ns = births.newest_ns;
}

// A variable or container that refers to these tensors.
void add_variable(const LeakAnalysis& analysis, const Series& series, const std::vector<uint32_t>& members,
                  std::vector<Suspect>& suspects) {
  Suspect suspect;
  Retained retained = analysis.retention().only_by(members);
  suspect.bytes = std::max(retained.bytes, analysis.bytes_of(analysis.dumps() - 1, members));
  suspect.count = members.size();
  suspect.tensors = retained.tensors;
  const Births births = births_of(births_of_tensors(analysis.last().dump, members), analysis.last().dump);
  take(suspect, births);
  const CreatedCount made = count_created(analysis, retained.tensors);
  suspect.made = made.all;
  suspect.kept = made.alive;
  suspect.site = analysis.site_of(retained.tensors);
  if (!weighs_enough(suspect)) return;
  if (!mostly_kept(made)) {
    // Each thread may have replaced its own.
    suspect.from_the_first =
        !series.of_many_threads() && kept_from_the_first(analysis, retained.tensors, suspect.site, births);
    if (!suspect.from_the_first) return;
  }
  suspect.holder = analysis.label(series);
  suspects.push_back(std::move(suspect));
}

// An optimizer makes its state one tensor after the other, in its first step, which is where memory often runs out.
bool is_state(const LeakAnalysis& analysis, const std::vector<uint32_t>& members) {
  return analysis.mostly(
      members, [&](uint32_t tensor) { return analysis.last().holders.category(tensor) == Category::optimizer_state; });
}

bool in_module_call(const LeakAnalysis& analysis, const Series& series, const std::vector<uint32_t>& members) {
  return analysis.mostly(
      members, [&](uint32_t tensor) { return local_of_module_call(analysis.last().dump, series.example, tensor); });
}

void add_variables(const LeakAnalysis& analysis, std::vector<Suspect>& suspects) {
  struct Container {
    const Series* largest = nullptr;
    std::vector<uint32_t> members;
  };
  std::map<std::tuple<uint8_t, std::string, std::string, std::vector<Beginning>>, Container> containers;
  const View& last = analysis.last();
  for (const Series& series : analysis.series()) {
    const std::vector<uint32_t>& members = series.members.back();
    if (members.size() < kMinGenerations || analysis.explained(members)) continue;
    // Garbage that is no finding is what the garbage collector has not come to yet.
    if (ReferenceRoot(series.example.root) == ReferenceRoot::cycle) continue;
    const Births births = births_of(births_of_tensors(last.dump, members), last.dump);
    if (!grew_for_long(births)) continue;
    if (births.steps < kMinGenerations && (is_state(analysis, members) || in_module_call(analysis, series, members)))
      continue;
    Container& container =
        containers[{series.example.root, series.example.scope, container_of(series.form), series.beginnings}];
    container.members.insert(container.members.end(), members.begin(), members.end());
    if (container.largest == nullptr || series.growth.bytes.back() > container.largest->growth.bytes.back()) {
      container.largest = &series;
    }
  }
  for (const auto& [key, container] : containers)
    add_variable(analysis, *container.largest, container.members, suspects);
}

void add_named_entries(const LeakAnalysis& analysis, std::vector<Suspect>& suspects) {
  const std::vector<Series> entries = entries_added_in_use(analysis);
  std::vector<const Series*> some;
  for (const Series& series : entries) some.push_back(&series);
  for (const Series& series : analysis.joined_by_container(some))
    add_variable(analysis, series, series.members.back(), suspects);
}

// A forward pass comes to each parameter once or a few times. Where it was not seen to be of several steps, a graph has
// grown for long only if it came to one of them again and again.
bool uses_a_leaf_again(const LeakAnalysis& analysis, const std::vector<uint32_t>& nodes) {
  const Graph& graph = analysis.last().dump.graph;
  std::map<uint32_t, uint64_t> uses;
  for (uint32_t node : nodes) {
    const GraphNode& row = graph.nodes[node];
    for (uint32_t edge = row.first_edge; edge < row.first_edge + row.edge_count; ++edge) {
      const uint32_t to = graph.edges[edge].node;
      if (to != kNoNode && analysis.retention().accumulates(to)) ++uses[to];
    }
  }
  return uses.empty() ||
         std::any_of(uses.begin(), uses.end(), [](const auto& use) { return use.second >= kMinGenerations; });
}

// "first.weight.grad and 3 others"
std::string names_of_some(const View& view, const std::vector<uint32_t>& tensors) {
  std::string text = view.holders.name(tensors.front());
  if (tensors.size() == 1) return text;
  return text + " and " + std::to_string(tensors.size() - 1) + (tensors.size() == 2 ? " other" : " others");
}

// Nodes of a graph go with the step that made them, unless a variable of a later step leads to them. Of several
// variables that lead to one graph the one with the fewest nodes is named: others are computed from it.
// Gradients may have the graphs of all passes (backward(create_graph=True)), and most often no variable refers to them.
void add_graphs(const LeakAnalysis& analysis, std::vector<Suspect>& suspects) {
  struct Candidate {
    const Series* series;  // null: the gradients that have a graph
    std::vector<uint32_t> members, nodes;
    Births births;
  };
  const View& last = analysis.last();
  std::vector<Candidate> candidates;
  const auto consider = [&](const Series* series, std::vector<uint32_t> members) {
    const std::vector<uint32_t> from = analysis.retention().nodes_of(members);
    if (from.empty() || analysis.explained(members)) return;
    std::vector<uint32_t> nodes = analysis.retention().nodes_below(from);
    const Births births = births_of(births_of_nodes(last.dump, nodes), last.dump);
    if (!grew_for_long(births)) return;
    if (births.steps < kMinGenerations) {
      if (!uses_a_leaf_again(analysis, nodes)) return;
      if (series != nullptr && in_module_call(analysis, *series, members)) return;
    }
    candidates.push_back({series, std::move(members), std::move(nodes), births});
  };
  for (const Series& series : analysis.series()) consider(&series, series.members.back());
  std::vector<uint32_t> gradients = analysis.retention().gradients_with_graph();
  std::erase_if(gradients, [&](uint32_t gradient) { return !last.selection.tensor(gradient); });
  consider(nullptr, std::move(gradients));
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.nodes.size() < b.nodes.size(); });
  std::vector<bool> explained(last.dump.graph.nodes.size());
  for (const Candidate& candidate : candidates) {
    const auto known =
        std::count_if(candidate.nodes.begin(), candidate.nodes.end(), [&](uint32_t node) { return explained[node]; });
    if (size_t(known) * 2 > candidate.nodes.size()) continue;
    for (uint32_t node : candidate.nodes) explained[node] = true;
    Suspect suspect;
    suspect.kind = Suspect::Kind::graph;
    suspect.count = candidate.nodes.size();
    suspect.tensors = analysis.retention().saved_by(candidate.nodes);
    suspect.tensors.insert(suspect.tensors.end(), candidate.members.begin(), candidate.members.end());
    // Parameters are saved, too; what else is only there for the graph was created with it.
    std::erase_if(suspect.tensors, [&](uint32_t tensor) {
      return has(last.dump.tensors[tensor], format::TensorFlag::leaf) &&
             analysis.last().dump.references.tensors[tensor].optimized;
    });
    suspect.bytes = analysis.bytes_of(analysis.dumps() - 1, suspect.tensors);
    take(suspect, candidate.births);
    if (!weighs_enough(suspect)) continue;
    suspect.holder =
        candidate.series != nullptr ? analysis.label(*candidate.series) : names_of_some(last, candidate.members);
    suspect.site = analysis.site_of(suspect.tensors);
    suspects.push_back(std::move(suspect));
  }
}

// Inputs that become larger, and what was made from them afterwards, are none. `tensors`: larger than those before.
void leave_larger_inputs(const View& last, const std::vector<uint32_t>& tensors, std::vector<Suspect>& larger) {
  const uint64_t first = first_larger_input(last, tensors);
  std::erase_if(larger, [&](const Suspect& suspect) { return made_at(last, suspect.tensors.front()) >= first; });
}

// `all = torch.cat([all, x])`: many were allocated at the site, one is left, and it is larger than they were on average
// as only the last of a growing row is. Of lengths that vary the last one is seldom that large.
void add_larger(const LeakAnalysis& analysis, std::vector<Suspect>& suspects) {
  constexpr uint64_t kMinMade = 8, kMaxKept = 2, kTimesMean = 8, kOfMean = 5;
  const View& last = analysis.last();
  std::vector<Suspect> larger;
  std::vector<uint32_t> all_larger;  // also those that were made a few times, as an input of the first steps
  for (const Storage& storage : last.dump.storages) {
    const uint32_t tensor = storage.tensors.front();
    const Item& item = last.accounts.items()[last.accounts.item_of_tensor(tensor)];
    if (item.allocation == kNone || item.bytes < kMinGrowth || analysis.explained(storage.tensors)) continue;
    const Site& row = last.dump.sites[item.site];
    if (row.allocations_total < 2 || row.allocations_live > kMaxKept) continue;
    if (item.bytes * kOfMean < row.bytes_total / row.allocations_total * kTimesMean) continue;
    all_larger.push_back(tensor);
    if (row.allocations_total < kMinMade) continue;
    const bool held = std::any_of(analysis.series().begin(), analysis.series().end(), [&](const Series& series) {
      const std::vector<uint32_t>& members = series.members.back();
      return std::find_first_of(members.begin(), members.end(), storage.tensors.begin(), storage.tensors.end()) !=
             members.end();
    });
    if (!held || item.bytes * 2 < row.bytes_peak) continue;
    Suspect suspect;
    suspect.kind = Suspect::Kind::larger;
    suspect.holder = all_holders(last, tensor);
    if (suspect.holder.empty()) suspect.holder = last.holders.name(tensor);
    suspect.bytes = item.bytes;
    suspect.count = 1;
    suspect.site = item.site;
    suspect.made = row.allocations_total;
    suspect.kept = row.allocations_live;
    suspect.generations = row.allocations_total;
    suspect.tensors.assign(storage.tensors.begin(), storage.tensors.end());
    const uint64_t created = last.dump.tensors[tensor].created_ns, now = last.dump.process.dump_ns;
    suspect.oldest_ns = suspect.newest_ns = now - std::min(created, now);
    larger.push_back(std::move(suspect));
  }
  leave_larger_inputs(last, all_larger, larger);
  std::ranges::move(larger, std::back_inserter(suspects));
}

// What a program that has just begun has plenty of, made in many places one after the other.
bool of_the_model(Category category) {
  return category == Category::parameter || category == Category::buffer || category == Category::gradient ||
         category == Category::optimizer_state || category == Category::saved_activation;
}

// Who holds them: the two forms of names with the most bytes, and how many others there are.
std::string all_their_holders(const View& last, const std::vector<uint32_t>& tensors) {
  std::vector<WeighedName> names;
  for (uint32_t tensor : tensors) {
    const std::vector<Holder>& holders = last.holders.holders(tensor);
    if (holders.empty()) continue;
    names.emplace_back(holders.front().brief, last.accounts.items()[last.accounts.item_of_tensor(tensor)].bytes);
  }
  return merged_names(names);
}

// What no variable explains: memory of C++, tensors that are local variables of many threads or frames.
void add_sites(const LeakAnalysis& analysis, std::vector<Suspect>& suspects) {
  const View& last = analysis.last();
  std::vector<bool> suspected(last.dump.tensors.size());
  for (const Suspect& suspect : suspects) {
    for (uint32_t tensor : suspect.tensors) suspected[tensor] = true;
  }
  std::vector<bool> passing(last.dump.tensors.size());  // with a module's call that runs
  for (const Series& series : analysis.series()) {
    for (uint32_t tensor : series.members.back())
      passing[tensor] = passing[tensor] || local_of_module_call(last.dump, series.example, tensor);
  }
  struct Line {
    std::vector<uint32_t> tensors;
    std::vector<Birth> births;
    uint64_t blocks = 0, block_bytes = 0;
    std::set<uint32_t> sites;
  };
  std::map<std::string, Line> lines;
  for (uint32_t i = 0; i < last.accounts.items().size(); ++i) {
    const Item& item = last.accounts.items()[i];
    if (item.bytes == 0 || item.allocation == kNone || item.site == 0 || !last.selection.item(i)) continue;
    const Allocation& block = last.dump.allocations[item.allocation];
    Line& line = lines[last.places.at(item.site).where];
    if (item.storage == kNone) {
      line.blocks += 1;
      line.block_bytes += item.bytes;
    } else {
      const std::span<const uint32_t> tensors = last.dump.storages[item.storage].tensors;
      if (std::any_of(tensors.begin(), tensors.end(), [&](uint32_t t) {
            return suspected[t] || analysis.explained(t) || of_the_model(last.holders.category(t));
          })) {
        continue;
      }
      line.tensors.push_back(tensors.front());
    }
    line.births.push_back({block.serial, block.created_ns});
    line.sites.insert(item.site);
  }
  for (auto& [where, line] : lines) {
    const Births births = births_of(line.births, last.dump);
    if (!grew_for_long(births)) continue;
    if (births.steps < kMinGenerations && analysis.mostly(line.tensors, [&](uint32_t t) { return passing[t]; }))
      continue;
    Suspect suspect;
    suspect.kind = Suspect::Kind::site;
    suspect.bytes = analysis.bytes_of(analysis.dumps() - 1, line.tensors) + line.block_bytes;
    suspect.count = line.births.size();
    for (uint32_t site : line.sites) {
      suspect.made += last.dump.sites[site].allocations_total;
      suspect.kept += last.dump.sites[site].allocations_live;
    }
    if (!weighs_enough(suspect) || !mostly_kept({suspect.made, suspect.kept})) continue;
    take(suspect, births);
    suspect.site = *line.sites.begin();
    suspect.holder = all_their_holders(last, line.tensors);
    suspect.tensors = std::move(line.tensors);
    suspects.push_back(std::move(suspect));
  }
}

void rank(std::vector<Suspect>& suspects) {
  std::stable_sort(suspects.begin(), suspects.end(), [](const Suspect& a, const Suspect& b) {
    if (std::bit_width(a.bytes) != std::bit_width(b.bytes)) return a.bytes > b.bytes;
    if (a.generations != b.generations) return a.generations > b.generations;
    return a.oldest_ns > b.oldest_ns;
  });
}

// What is mostly held by a larger suspect, too, is said once; of names of the same the shortest one.
void leave_out_repeated(const LeakAnalysis& analysis, std::vector<Suspect>& suspects) {
  std::stable_sort(suspects.begin(), suspects.end(), [](const Suspect& a, const Suspect& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.holder.size() < b.holder.size();
  });
  std::vector<bool> known(analysis.last().dump.tensors.size());
  std::erase_if(suspects, [&](const Suspect& suspect) {
    const bool repeated =
        !suspect.tensors.empty() && analysis.mostly(suspect.tensors, [&](uint32_t t) { return known[t]; });
    for (uint32_t tensor : suspect.tensors) known[tensor] = true;
    return repeated;
  });
}

}  // namespace

const char* name(Suspect::Kind kind) {
  switch (kind) {
    case Suspect::Kind::variable:
      return "variable";
    case Suspect::Kind::graph:
      return "graph";
    case Suspect::Kind::larger:
      return "larger-tensor";
    case Suspect::Kind::site:
      return "site";
  }
  return "";
}

// Without what was made in the first step: it has not grown since. Its part is that of the number of things.
uint64_t bytes_each_step(const Suspect& suspect) {
  if (suspect.of_steps < 2) return 0;
  return uint64_t(std::llround(double(suspect.bytes) * suspect.after_first_step / double(suspect.of_steps - 1)));
}

std::vector<Suspect> find_suspects(const LeakAnalysis& analysis) {
  std::vector<Suspect> suspects;
  if (analysis.retention().known()) {
    add_variables(analysis, suspects);
    add_named_entries(analysis, suspects);
    if (analysis.last().dump.graph.present) add_graphs(analysis, suspects);
    add_larger(analysis, suspects);
  }
  add_sites(analysis, suspects);
  leave_out_repeated(analysis, suspects);
  rank(suspects);
  return suspects;
}

}  // namespace tensorscope::analyzer
