// SPDX-License-Identifier: Apache-2.0
// Cycles through the autograd graph that only C++ sees: a leaf whose gradient has a graph that leads to the leaf, an
// object of a saved-tensor hook that keeps its own output. Python's garbage collector cannot break them. Nothing else
// leads to what is reported here, so one dump is enough.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

namespace {

using format::ReferenceRoot;
using format::TensorFlag;
using Link = Retention::Link;

// What no root leads to, and in it one cycle: the links in order, the last one leads to where the first one began.
struct Unrooted {
  Retained what;
  uint32_t begin = kNone;  // a tensor
  std::vector<Link> cycle;
};

// Looked at while the program ran on: what died meanwhile says nothing.
bool died_meanwhile(const Dump& dump, const Retained& retained) {
  return std::any_of(retained.tensors.begin(), retained.tensors.end(), [&](uint32_t tensor) {
    return has(dump.tensors[tensor], TensorFlag::freed_during_dump) || has(dump.tensors[tensor], TensorFlag::released);
  });
}

// The shortest way from a tensor back to itself; empty: there is none. `budget`: links that may still be looked at.
std::vector<Link> cycle_through(const Retention& retention, uint32_t tensor, size_t& budget) {
  struct Step {
    Link link;
    size_t before;
  };
  constexpr size_t kStart = SIZE_MAX;
  std::vector<Step> steps;
  std::set<std::pair<bool, uint32_t>> seen;
  auto look = [&](const std::vector<Link>& links, size_t before) {
    for (const Link& link : links) {
      if (seen.emplace(link.to_node, link.to).second) steps.push_back({link, before});
    }
  };
  look(retention.links_of_tensor(tensor), kStart);
  for (size_t at = 0; at < steps.size() && budget > 0; ++at, --budget) {
    const Link link = steps[at].link;
    if (!link.to_node && link.to == tensor) {
      std::vector<Link> cycle;
      for (size_t step = at; step != kStart; step = steps[step].before) cycle.push_back(steps[step].link);
      std::reverse(cycle.begin(), cycle.end());
      return cycle;
    }
    look(link.to_node ? retention.links_of_node(link.to) : retention.links_of_tensor(link.to), at);
  }
  return {};
}

Unrooted unrooted(const Retention& retention) {
  constexpr size_t kMaxLinks = size_t{1} << 20;
  Unrooted result;
  result.what = retention.unrooted();
  size_t budget = kMaxLinks;
  for (uint32_t tensor : result.what.tensors) {
    std::vector<Link> cycle = cycle_through(retention, tensor, budget);
    if (cycle.empty() || (!result.cycle.empty() && cycle.size() >= result.cycle.size())) continue;
    result.begin = tensor;
    result.cycle = std::move(cycle);
    constexpr size_t kShort = 4;
    if (result.cycle.size() <= kShort) break;
  }
  return result;
}

// A cycle link by link, and what breaks it.
class CycleReader {
 public:
  CycleReader(const View& view, const Unrooted& found) : dump_(view.dump), found_(found) {}

  std::vector<CycleLink> links() const {
    constexpr size_t kEach = 4;
    std::vector<CycleLink> links = {{CycleLink::Kind::begin, "", tensor(found_.begin)}};
    for (size_t i = 0; i < found_.cycle.size(); ++i) {
      const size_t left = found_.cycle.size() - i;
      if (i == kEach && left > kEach) {
        links.push_back({CycleLink::Kind::left_out, "", "", left - kEach});
        i += left - kEach - 1;
        continue;
      }
      links.push_back(link(found_.cycle[i], i == 0 ? kNone : found_.cycle[i - 1].to));
    }
    return links;
  }

  // What breaks it, and where the tensor was made whose link that is about.
  std::pair<Advice, uint32_t> what_breaks_it() const {
    for (size_t i = 1; i < found_.cycle.size(); ++i) {
      const uint32_t tensor = found_.cycle[i].to;
      if (found_.cycle[i].kind != Link::Kind::python) continue;
      const std::string way = way_in_python(tensor, found_.cycle[i - 1].to);
      const Advice advice = way.starts_with("ctx")      ? Advice::save_for_backward
                            : way.starts_with("hooks[") ? Advice::remove_node_hook
                                                        : Advice::detach_in_hook;
      return {advice, dump_.tensors[tensor].site};
    }
    for (const Link& link : found_.cycle) {
      if (link.kind == Link::Kind::gradient) return {Advice::no_create_graph, dump_.tensors[link.to].site};
    }
    return {Advice::break_graph_cycle, 0};
  }

 private:
  std::string tensor(uint32_t number) const {
    const Tensor& row = dump_.tensors[number];
    return "#" + std::to_string(row.serial) + " " + row.dtype_text() + " " + row.shape_text();
  }
  std::string way_in_python(uint32_t tensor, uint32_t node) const {
    for (const Reference& row : dump_.references.of(tensor)) {
      if (row.node == node && ReferenceRoot(row.root) == ReferenceRoot::node) return row.text;
    }
    return "";
  }
  CycleLink link(const Link& link, uint32_t before) const {
    switch (link.kind) {
      case Link::Kind::grad_fn:
        return {CycleLink::Kind::grad_fn, std::string(dump_.graph.class_name(link.to))};
      case Link::Kind::gradient:
        return {CycleLink::Kind::gradient, "", tensor(link.to)};
      case Link::Kind::base:
        return {CycleLink::Kind::base, "", tensor(link.to)};
      case Link::Kind::part:
        return {CycleLink::Kind::part, "", tensor(link.to)};
      case Link::Kind::next:
        return {CycleLink::Kind::next, std::string(dump_.graph.class_name(link.to))};
      case Link::Kind::saved:
        return {CycleLink::Kind::saved, "", tensor(link.to)};
      case Link::Kind::python:
        return {CycleLink::Kind::python, way_in_python(link.to, before), tensor(link.to)};
    }
    return {};
  }

  const Dump& dump_;
  const Unrooted& found_;
};

}  // namespace

void find_graph_cycles(LeakAnalysis& analysis) {
  const Dump& dump = analysis.last().dump;
  if (!dump.references.present || !dump.references.complete || !dump.graph.complete) return;
  const Unrooted found = unrooted(analysis.retention());
  if (found.cycle.empty() || died_meanwhile(dump, found.what)) return;
  const auto selected = [&](uint32_t tensor) { return analysis.last().selection.tensor(tensor); };
  if (std::ranges::none_of(found.what.tensors, selected)) return;
  if (found.what.bytes + found.what.nodes.size() * kObjectBytes < kMinGrowth) return;
  const CycleReader reader(analysis.last(), found);
  LeakFinding finding;
  finding.kind = LeakKind::graph_cycle;
  finding.cycle = reader.links();
  std::tie(finding.advice, finding.closed_at) = reader.what_breaks_it();
  for (size_t i = 0; i < analysis.dumps(); ++i) {
    const Retained then = analysis.retention(i).unrooted();
    finding.growth.count.push_back(then.tensors.size());
    finding.growth.bytes.push_back(then.bytes);
  }
  finding.bytes = found.what.bytes;
  finding.site = analysis.site_of(found.what.tensors);
  finding.evidence = {{FactKind::cycle_tensors, finding.growth.count},
                      {FactKind::cycle_nodes, {found.what.nodes.size()}},
                      {FactKind::retained, finding.growth.bytes}};
  finding.tensors = found.what.tensors;
  analysis.add(std::move(finding), found.what.nodes);
}

}  // namespace tensorscope::analyzer
