// SPDX-License-Identifier: Apache-2.0
// Graphs that reach back through the steps: kept by a container of losses, a running sum, or a state that is carried
// on.
#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "leaks/leak_analysis.h"
#include "ownership/graph_roots.h"

namespace tensorscope::analyzer {

namespace {

// What some tensors' graphs are, in each dump.
struct GraphGrowth {
  Growth nodes;                 // count: nodes that can be reached; kept: their serials
  Growth bytes;                 // count: tensors that only these graphs keep; bytes: theirs
  std::vector<uint64_t> own;    // bytes of the tensors whose graphs they are
  std::vector<uint64_t> saved;  // bytes that the nodes hold, whoever else holds them; without `own`
  std::vector<uint32_t> last_nodes, last_tensors;
};

std::vector<uint64_t> serials_of(const Dump& dump, const std::vector<uint32_t>& nodes) {
  std::vector<uint64_t> serials;
  for (uint32_t node : nodes) {
    const uint32_t seen = dump.graph.nodes[node].seen;
    if (seen != kNone) serials.push_back(dump.nodes[seen].serial);
  }
  return serials;
}

GraphGrowth graph_growth(const LeakAnalysis& analysis, const std::vector<std::vector<uint32_t>>& members) {
  GraphGrowth result;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    const Retention& retention = analysis.retention(i);
    std::vector<uint32_t> nodes = retention.nodes_below(retention.nodes_of(members[i]));
    Retained kept = retention.only_by(members[i]);
    result.nodes.count.push_back(nodes.size());
    result.bytes.count.push_back(kept.tensors.size());
    result.bytes.bytes.push_back(kept.bytes);
    std::vector<uint32_t> held = retention.saved_by(nodes);
    held.insert(held.end(), members[i].begin(), members[i].end());
    result.own.push_back(analysis.bytes_of(i, members[i]));
    result.saved.push_back(analysis.bytes_of(i, held) - result.own.back());
    if (i + 1 < analysis.dumps()) continue;
    result.nodes.kept = serials_of(analysis.view(i).dump, nodes);
    result.last_nodes = std::move(nodes);
    result.last_tensors = std::move(kept.tensors);
  }
  return result;
}

// What only the graphs keep besides their own tensors, in each dump. After backward the nodes stay, but what they had
// saved is gone.
std::vector<uint64_t> only_saved(const GraphGrowth& graph) {
  std::vector<uint64_t> saved;
  for (size_t i = 0; i < graph.own.size(); ++i) {
    saved.push_back(graph.bytes.bytes[i] - std::min(graph.own[i], graph.bytes.bytes[i]));
  }
  return saved;
}

bool saved_bytes_grow(const GraphGrowth& graph) { return grows(only_saved(graph)) || grows(graph.saved); }

uint64_t growth_of(const std::vector<uint64_t>& values) {
  return values.back() - std::min(values.front(), values.back());
}

std::string_view class_of(const Dump& dump, uint32_t tensor) { return dump.tensors[tensor].grad_fn_name.str(); }

LeakFinding finding_of(const LeakAnalysis& analysis, const Series& series, GraphGrowth& graph, bool saved) {
  LeakFinding finding;
  finding.kind = saved ? LeakKind::accumulated_graph : LeakKind::graph_nodes;
  finding.holders = {analysis.label(series)};
  finding.places = analysis.places_of(series);
  finding.scalars = all_scalars(analysis.last().dump, series.members.back());
  finding.growth = graph.bytes;
  finding.bytes = graph.bytes.bytes.back();
  finding.site = analysis.site_of(series.members.back());
  finding.evidence = {{FactKind::reachable_nodes, graph.nodes.count}, {FactKind::retained, graph.bytes.bytes}};
  const uint64_t reachable = growth_of(graph.saved) + growth_of(graph.own);
  if (saved && (!grows(only_saved(graph)) || reachable > growth_of(graph.bytes.bytes) + kMinGrowth)) {
    // Something else leads to the same graph: what only this one keeps says little.
    for (size_t i = 0; i < analysis.dumps(); ++i) finding.growth.bytes[i] = graph.own[i] + graph.saved[i];
    finding.evidence = {{FactKind::reachable_nodes, graph.nodes.count}, {FactKind::shared_graph, finding.growth.bytes}};
    finding.bytes = finding.growth.bytes.back();
    finding.shared = analysis.retention().saved_by(graph.last_nodes);
  }
  if (!saved) {
    finding.growth.count = graph.nodes.count;
    finding.counts = LeakFinding::Counts::nodes;
    finding.evidence.push_back({FactKind::saved_tensors_freed});
  }
  finding.tensors = std::move(graph.last_tensors);
  return finding;
}

// In each dump, how many of these have a graph.
std::vector<uint64_t> with_graph(const LeakAnalysis& analysis, const Series& series) {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < analysis.dumps(); ++i)
    counts.push_back(analysis.retention(i).nodes_of(series.members[i]).size());
  return counts;
}

// Those of its members that have a graph: a dict of sums may have detached ones, too.
Series those_with_graph(const LeakAnalysis& analysis, const Series& series) {
  Series result = series;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    std::erase_if(result.members[i], [&](uint32_t tensor) { return analysis.retention(i).node_of(tensor) == kNoNode; });
  }
  return result;
}

// A graph that began before the last part of the time and has grown since, and the variable that leads to it.
struct Chain {
  Series series;
  GraphGrowth graph;
  bool carried = false;  // the value of the dump before is part of it
};

uint64_t oldest_below(const LeakAnalysis& analysis, uint32_t node) {
  const std::vector<uint32_t> from = {node};
  uint64_t oldest = UINT64_MAX;
  for (uint64_t serial : serials_of(analysis.last().dump, analysis.retention().nodes_below(from))) {
    oldest = std::min(oldest, serial);
  }
  return oldest;
}

bool is_carried(const LeakAnalysis& analysis, const Series& series, const std::vector<uint32_t>& last_nodes) {
  const size_t before = analysis.dumps() - 2;
  const std::vector<uint64_t> then =
      serials_of(analysis.view(before).dump, analysis.retention(before).nodes_of(series.members[before]));
  const std::vector<uint64_t> now = serials_of(analysis.last().dump, last_nodes);
  const std::unordered_set<uint64_t> known(now.begin(), now.end());
  return std::any_of(then.begin(), then.end(), [&](uint64_t serial) { return known.contains(serial); });
}

bool is_arithmetic(std::string_view name) {
  for (std::string_view known :
       {"AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0", "CatBackward0", "StackBackward0"}) {
    if (name == known) return true;
  }
  return false;
}

// A running sum adds something of each step that does not itself come out of the sum; a state goes through the step.
bool is_sum(const LeakAnalysis& analysis, const Series& series) {
  const Graph& graph = analysis.last().dump.graph;
  const uint32_t tensor = series.members.back().back();
  if (analysis.last().dump.tensors[tensor].numel == 1) return true;
  constexpr size_t kLinks = 8;
  uint32_t node = analysis.retention().node_of(tensor);
  for (size_t link = 0; link < kLinks; ++link) {
    if (node == kNoNode || !is_arithmetic(graph.class_name(node)) || graph.edges_of(node).empty()) return false;
    const uint32_t next = graph.edges_of(node)[0].node;
    for (const GraphEdge& edge : graph.edges_of(node).subspan(1)) {
      if (edge.node == kNoNode || next == kNoNode) continue;
      const std::vector<uint32_t> from = {edge.node};
      const std::vector<uint32_t> below = analysis.retention().nodes_below(from);
      if (std::find(below.begin(), below.end(), next) != below.end()) return false;
    }
    node = next;
  }
  return true;
}

std::vector<Chain> chains(const LeakAnalysis& analysis) {
  std::vector<Chain> result;
  for (const Series& all : analysis.series()) {
    if (analysis.timeline().is_accumulating(all.growth) || analysis.explained(all.members.back())) continue;
    Series series = those_with_graph(analysis, all);
    const std::vector<uint32_t>& members = series.members.back();
    const bool everywhere = std::all_of(series.members.begin() + (analysis.dumps() > 2), series.members.end(),
                                        [](const auto& tensors) { return !tensors.empty(); });
    if (!everywhere || members.empty()) continue;
    const uint32_t node = analysis.retention().node_of(members.front());
    if (analysis.node_explained(node)) continue;
    if (oldest_below(analysis, node) >= analysis.timeline().last_part()) continue;
    Chain chain;
    chain.graph = graph_growth(analysis, series.members);
    if (!grows(chain.graph.nodes.count) || !analysis.timeline().spread(chain.graph.nodes.kept)) continue;
    chain.carried = is_carried(analysis, series, chain.graph.last_nodes);
    chain.series = std::move(series);
    result.push_back(std::move(chain));
  }
  return result;
}

// Of several variables that lead to one graph the one that is carried on comes first, of these the one made last: what
// is computed from it on the way to the next value is made before.
bool explains_better(const Chain& a, const Chain& b) {
  if (a.carried != b.carried) return a.carried;
  const size_t nodes_a = a.graph.last_nodes.size(), nodes_b = b.graph.last_nodes.size();
  if (nodes_a != nodes_b) return a.carried ? nodes_a > nodes_b : nodes_a < nodes_b;
  return a.series.example.steps > b.series.example.steps;
}

// The variables that lead to most of the same graph, this one included: what they keep, they keep together.
std::vector<const Chain*> together_with(const Chain& chain, const std::vector<Chain>& all) {
  const std::unordered_set<uint32_t> nodes(chain.graph.last_nodes.begin(), chain.graph.last_nodes.end());
  std::vector<const Chain*> result;
  for (const Chain& other : all) {
    const auto shared = std::count_if(other.graph.last_nodes.begin(), other.graph.last_nodes.end(),
                                      [&](uint32_t node) { return nodes.contains(node); });
    if (size_t(shared) * 2 > other.graph.last_nodes.size()) result.push_back(&other);
  }
  return result;
}

std::vector<std::vector<uint32_t>> members_of(const LeakAnalysis& analysis, const std::vector<const Chain*>& chains) {
  std::vector<std::vector<uint32_t>> members(analysis.dumps());
  for (const Chain* chain : chains) {
    for (size_t i = 0; i < analysis.dumps(); ++i) {
      members[i].insert(members[i].end(), chain->series.members[i].begin(), chain->series.members[i].end());
    }
  }
  return members;
}

std::unordered_set<uint64_t> former_nodes(const LeakAnalysis& analysis, const Chain& chain) {
  const size_t before = analysis.dumps() - 2;
  const std::vector<uint64_t> serials =
      serials_of(analysis.view(before).dump, analysis.retention(before).nodes_of(chain.series.members[before]));
  return {serials.begin(), serials.end()};
}

// Whether it reaches its own value of the dump before though `first` was detached then: h and c of an LSTM, the
// membranes of two layers. What a step only copied of `first` does not.
bool goes_on_without(const LeakAnalysis& analysis, const Chain& chain, const Chain& first) {
  const Dump& dump = analysis.last().dump;
  const std::unordered_set<uint64_t> own = former_nodes(analysis, chain), cut = former_nodes(analysis, first);
  std::vector<uint32_t> todo = analysis.retention().nodes_of(chain.series.members.back());
  std::unordered_set<uint32_t> known(todo.begin(), todo.end());
  while (!todo.empty()) {
    const uint32_t node = todo.back(), seen = dump.graph.nodes[node].seen;
    todo.pop_back();
    const uint64_t serial = seen == kNone ? 0 : dump.nodes[seen].serial;
    if (cut.contains(serial)) continue;
    if (own.contains(serial)) return true;
    for (const GraphEdge& edge : dump.graph.edges_of(node)) {
      if (edge.node != kNoNode && known.insert(edge.node).second) todo.push_back(edge.node);
    }
  }
  return false;
}

// Attributes and entries among these that lead to the same graph, as a mean that was computed from the sum or from the
// losses of a list: what stays where it is until something else is assigned. A plain variable of the step is assigned
// anew in the next.
std::vector<std::string> names_that_stay(const LeakAnalysis& analysis, const std::vector<const Chain*>& chains) {
  std::vector<std::string> names;
  for (const Chain* chain : chains) {
    const bool plain = chain->series.example.text.find_first_of(".[") == std::string::npos;
    if (!plain) names.push_back(analysis.label(chain->series));
  }
  return names;
}

// Those that lead to most of these nodes.
std::vector<const Chain*> leading_to(const std::vector<uint32_t>& last_nodes, const std::vector<Chain>& all) {
  const std::unordered_set<uint32_t> nodes(last_nodes.begin(), last_nodes.end());
  std::vector<const Chain*> result;
  for (const Chain& chain : all) {
    const auto shared =
        std::ranges::count_if(chain.graph.last_nodes, [&](uint32_t node) { return nodes.contains(node); });
    if (size_t(shared) * 2 > nodes.size()) result.push_back(&chain);
  }
  return result;
}

// `others` is asked only where these members alone free little of it.
void note_others(const LeakAnalysis& analysis, const std::vector<uint32_t>& members, LeakFinding& finding,
                 const std::function<std::vector<std::string>()>& others) {
  const uint64_t alone = analysis.retention().only_by(members).bytes;
  if (alone * 2 >= finding.bytes) return;
  finding.also_held_by = merged_names(others());
  finding.frees_alone = alone;
}

void find_in_containers(LeakAnalysis& analysis) {
  for (const Series& series : analysis.containers()) {
    const std::vector<uint32_t>& members = series.members.back();
    const auto newest = std::find_if(members.rbegin(), members.rend(),
                                     [&](uint32_t tensor) { return analysis.retention().node_of(tensor) != kNoNode; });
    if (newest == members.rend() || analysis.explained(members)) continue;
    GraphGrowth graph = graph_growth(analysis, series.members);
    if (!grows(graph.nodes.count)) continue;
    const bool saved = saved_bytes_grow(graph);
    // What it holds itself is more than what is behind it: a container that grows, whatever led there.
    const uint64_t nodes = growth_of(graph.nodes.count) * kObjectBytes;
    const uint64_t behind = saved ? std::max(growth_of(only_saved(graph)), growth_of(graph.saved)) : 0;
    if (growth_of(graph.own) > behind + nodes || (!saved && growth_of(graph.own) >= kMinGrowth)) continue;
    LeakFinding finding = finding_of(analysis, series, graph, saved);
    finding.evidence.insert(finding.evidence.begin(), {FactKind::tensors_with_grad_fn, with_graph(analysis, series),
                                                       std::string(class_of(analysis.last().dump, *newest))});
    // What a function's closure has is not the program's to detach: the function goes, or stays.
    const bool in_function = series.form.starts_with("closure of ") || series.form.starts_with("default of ");
    finding.advice = in_function ? Advice::bound_container : Advice::keep_value;
    note_others(analysis, members, finding, [&] {
      const std::vector<Chain> all = chains(analysis);
      return names_that_stay(analysis, leading_to(graph.last_nodes, all));
    });
    analysis.add(std::move(finding), graph.last_nodes);
  }
}

LeakFinding chain_finding(const LeakAnalysis& analysis, const Chain& chain, const std::vector<Chain>& all) {
  const std::vector<const Chain*> together = together_with(chain, all);
  GraphGrowth graph = graph_growth(analysis, members_of(analysis, together));
  const bool sum = is_sum(analysis, chain.series), saved = saved_bytes_grow(graph);
  LeakFinding finding = finding_of(analysis, chain.series, graph, saved);
  if (sum) {
    finding.advice = Advice::add_value;
    note_others(analysis, chain.series.members.back(), finding, [&] {
      std::vector<const Chain*> others = together;
      std::erase(others, &chain);
      return names_that_stay(analysis, others);
    });
    return finding;
  }
  finding.kind = LeakKind::state_not_detached;
  finding.advice = Advice::detach_state;
  for (const Chain* other : together) {
    if (other == &chain || !other->carried || !goes_on_without(analysis, *other, chain)) continue;
    std::string label = analysis.label(other->series);
    if (std::ranges::find(finding.holders, label) == finding.holders.end()) finding.holders.push_back(std::move(label));
  }
  return finding;
}

// Nodes that a container which piles up leads to: a variable that leads to them, too, is not what keeps them.
std::vector<bool> nodes_of_containers(const LeakAnalysis& analysis) {
  std::vector<bool> result(analysis.last().dump.graph.nodes.size());
  for (const Series& series : analysis.containers()) {
    if (!weighs_enough(series.growth.added_bytes(), series.growth.added())) continue;
    const std::vector<uint32_t> from = analysis.retention().nodes_of(series.members.back());
    for (uint32_t node : analysis.retention().nodes_below(from)) result[node] = true;
  }
  return result;
}

void find_chains(LeakAnalysis& analysis) {
  std::vector<Chain> all = chains(analysis);
  if (all.empty()) return;
  std::sort(all.begin(), all.end(), explains_better);
  const std::vector<bool> of_containers = nodes_of_containers(analysis);
  for (const Chain& chain : all) {
    const auto shared = std::count_if(chain.graph.last_nodes.begin(), chain.graph.last_nodes.end(), [&](uint32_t node) {
      return analysis.node_explained(node) || of_containers[node];
    });
    if (size_t(shared) * 2 > chain.graph.last_nodes.size()) {
      analysis.explain(chain.graph.last_nodes);
      continue;
    }
    analysis.add(chain_finding(analysis, chain, all), chain.graph.last_nodes);
  }
}

// What backward(create_graph=True) leaves in gradients that are added up, or set to zero in place: each has the graphs
// of all passes so far.
void find_in_gradients(LeakAnalysis& analysis) {
  std::vector<std::vector<uint32_t>> gradients(analysis.dumps());
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    gradients[i] = analysis.retention(i).gradients_with_graph();
    std::erase_if(gradients[i], [&](uint32_t gradient) { return !analysis.view(i).selection.tensor(gradient); });
  }
  if (gradients.back().empty() || analysis.explained(gradients.back())) return;
  GraphGrowth graph = graph_growth(analysis, gradients);
  if (!grows(graph.nodes.count) || !analysis.timeline().spread(graph.nodes.kept)) return;
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    Retained kept = analysis.retention(i).only_by_gradients(gradients[i]);
    graph.bytes.count[i] = kept.tensors.size();
    graph.bytes.bytes[i] = kept.bytes;
    graph.last_tensors = std::move(kept.tensors);
  }
  if (growth_of(graph.bytes.bytes) + growth_of(graph.nodes.count) * kObjectBytes < kMinGrowth) return;
  const bool saved = saved_bytes_grow(graph);
  LeakFinding finding;
  finding.kind = saved ? LeakKind::accumulated_graph : LeakKind::graph_nodes;
  for (uint32_t gradient : gradients.back()) finding.holders.push_back(analysis.last().holders.name(gradient));
  finding.advice = Advice::no_create_graph;
  finding.growth = graph.bytes;
  if (!saved) {
    finding.growth.count = graph.nodes.count;
    finding.counts = LeakFinding::Counts::nodes;
  }
  finding.bytes = graph.bytes.bytes.back();
  finding.site = analysis.site_of(graph.last_tensors);
  finding.evidence = {{FactKind::reachable_nodes, graph.nodes.count}, {FactKind::retained, graph.bytes.bytes}};
  if (!saved) finding.evidence.push_back({FactKind::saved_tensors_freed});
  finding.tensors = std::move(graph.last_tensors);
  analysis.add(std::move(finding), graph.last_nodes);
}

// Nodes that Python objects refer to, of the last dump those that no finding explains.
std::vector<uint32_t> referred_nodes(const LeakAnalysis& analysis, size_t dump) {
  std::vector<uint32_t> referred;
  const bool last = dump + 1 == analysis.dumps();
  for (const NodeReference& row : analysis.view(dump).dump.references.nodes) {
    if (!last || !analysis.node_explained(row.node)) referred.push_back(row.node);
  }
  return referred;
}

// By how much the nodes grew that no finding explains.
bool loose_nodes(const LeakAnalysis& analysis, Growth& growth, std::vector<uint32_t>& nodes) {
  for (size_t i = 0; i < analysis.dumps(); ++i) growth.count.push_back(analysis.view(i).dump.graph.nodes.size());
  const Dump& dump = analysis.last().dump;
  // A saved tensor that is explained keeps the node that made it, which no edge of its graph may lead to.
  std::vector<uint32_t> makers;
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); ++tensor) {
    if (analysis.explained(tensor) && analysis.retention().node_of(tensor) != kNoNode) {
      makers.push_back(analysis.retention().node_of(tensor));
    }
  }
  std::vector<bool> made(dump.graph.nodes.size());
  for (uint32_t node : analysis.retention().nodes_below(makers)) made[node] = true;
  for (uint32_t node = 0; node < dump.graph.nodes.size(); ++node) {
    if (!made[node] && !analysis.node_explained(node) && !analysis.retention().accumulates(node)) nodes.push_back(node);
  }
  growth.kept = serials_of(dump, nodes);
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    growth.bytes.push_back(analysis.retention(i).only_by({}, referred_nodes(analysis, i)).bytes);
  }
  const auto fresh = uint64_t(std::max<int64_t>(0, growth.added()));
  const int64_t weight = int64_t(std::min<uint64_t>(fresh, nodes.size()) * kObjectBytes) + growth.added_bytes();
  return grows(growth.count) && analysis.timeline().spread(growth.kept) && weight >= int64_t(kMinGrowth);
}

}  // namespace

void find_kept_graphs(LeakAnalysis& analysis) {
  if (analysis.dumps() < 2 || !analysis.last().dump.graph.present) return;
  find_in_containers(analysis);
  find_in_gradients(analysis);
  find_chains(analysis);
}

void find_loose_nodes(LeakAnalysis& analysis) {
  Growth growth;
  std::vector<uint32_t> nodes;
  // Nodes that were not read in one of the dumps would be growth in the next.
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    if (!analysis.view(i).dump.graph.whole()) return;
  }
  if (!analysis.unfiltered() || analysis.dumps() < 2 || !loose_nodes(analysis, growth, nodes)) return;
  const Dump& dump = analysis.last().dump;
  const std::vector<uint32_t> referred = referred_nodes(analysis, analysis.dumps() - 1);
  std::string subject;
  for (const NodeReference& row : dump.references.nodes) {
    if (!analysis.node_explained(row.node)) subject = without_indexes(row.line());
  }
  // What was not looked through may refer to any of them: then nothing is said of how many Python objects do.
  const bool seen = python_was_looked_through(dump);
  Retained kept = analysis.retention().only_by({}, referred);
  LeakFinding finding;
  const bool saved = kept.bytes >= kMinGrowth;
  const bool container = subject.find('*') != std::string::npos;
  finding.kind = !saved ? LeakKind::graph_nodes : container ? LeakKind::container : LeakKind::accumulated_graph;
  finding.site = analysis.site_of(kept.tensors);
  if (!subject.empty()) finding.holders = {subject};
  finding.advice = !subject.empty() ? Advice::drop_nodes : seen ? Advice::find_node_holder : Advice::holder_not_seen;
  finding.bytes = kept.bytes;
  finding.growth = growth;
  finding.counts = LeakFinding::Counts::nodes;
  finding.evidence = {{FactKind::live_nodes, growth.count}};
  if (seen || !referred.empty()) {
    finding.evidence.push_back({FactKind::python_nodes, {referred.size()}});
    finding.evidence.push_back({FactKind::retained, {kept.bytes}});
  }
  finding.tensors = std::move(kept.tensors);
  analysis.add(std::move(finding), nodes);
}

}  // namespace tensorscope::analyzer
