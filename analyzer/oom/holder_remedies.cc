// SPDX-License-Identifier: Apache-2.0
#include "oom/holder_remedies.h"

#include <algorithm>
#include <set>

#include "dump_generated.h"
#include "leaks/leak_analysis.h"
#include "leaks/leaks.h"
#include "oom/chains.h"
#include "oom/freed.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr size_t kMaxHolders = 4;
constexpr size_t kMaxAsked = 12;    // each needs a walk over the graph
constexpr size_t kMaxTogether = 3;  // holders of the same tensors

// "records[3].loss" is in "records[*]".
std::string container_of(const std::string& text) {
  const std::string pattern = without_indexes(text);
  const size_t star = pattern.find('*');
  if (star == std::string::npos) return pattern;
  return pattern.substr(0, pattern.compare(star + 1, 1, "]") == 0 ? star + 2 : star + 1);
}

bool same_container(const Series& a, const Series& b) {
  return a.example.root == b.example.root && a.example.scope == b.example.scope && a.beginnings == b.beginnings &&
         container_of(a.example.text) == container_of(b.example.text);
}

class HolderFinder {
 public:
  HolderFinder(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines)
      : about_(about),
        headroom_(headroom),
        view_(about.views.back()),
        dump_(view_.dump),
        analysis_({view_}, /*unfiltered=*/true),
        lines_(lines),
        explained_(dump_.tensors.size()) {
    const std::string package = torch_package(dump_);
    const auto of_torch = [&](const Code& code) { return python_owner(code.file, package) == Owner::torch; };
    for (const Code& code : dump_.codes) {
      if (of_torch(code)) torchs_functions_.insert(code.function);
    }
    for (const Code& code : dump_.codes) {
      if (!of_torch(code)) torchs_functions_.erase(code.function);
    }
  }

  std::vector<Remedy> find() {
    leaks();
    gradient_graphs();
    for (const Chain& chain : find_chains(analysis_)) add_chain(chain);
    containers();
    return std::move(found_);
  }

 private:
  const Retention& retention() const { return analysis_.retention(); }

  bool add(Remedy remedy, const Freed& freed) {
    if (freed.bytes < headroom_.least()) return false;
    remedy.bytes = freed.bytes;
    remedy.fits = headroom_.fits(freed);
    if (remedy.at_most && remedy.fits == Fits::yes) remedy.fits = Fits::may;
    remedy.stays = headroom_.in_private_pools(freed);
    headroom_.fill_missing(remedy, freed.bytes - std::min(remedy.stays, freed.bytes) + about_.cached.common);
    found_.push_back(std::move(remedy));
    return true;
  }

  void leaks() {
    Leaks all = find_leaks(about_.views, /*unfiltered=*/true);
    if (all.passing_cycles) all.findings.push_back(std::move(*all.passing_cycles));
    for (const LeakFinding& finding : all.findings) {
      if (finding.kind == LeakKind::graph_cycle) add_graph_cycle(finding);
      const bool cycle = finding.kind == LeakKind::reference_cycle;
      const bool holder = finding.kind == LeakKind::accumulated_graph || finding.kind == LeakKind::traceback ||
                          finding.kind == LeakKind::state_not_detached || finding.kind == LeakKind::container ||
                          finding.kind == LeakKind::module_cache;
      if (!cycle && !holder) continue;
      for (uint32_t tensor : finding.tensors) explained_[tensor] = true;
      const Retained kept = retention().only_by(held_by(finding.tensors, {}));
      Remedy remedy;
      remedy.kind = cycle ? RemedyKind::collect_garbage : RemedyKind::drop_holder;
      remedy.leak = finding;
      add(std::move(remedy), freed_with(dump_, kept.tensors, about_.device));
    }
  }

  // Of a gradient that was made at this site: on a device a thread without Python's stack makes it.
  std::string call_of_backward(uint32_t site) const {
    const std::string own = lines_.own_line(site);
    return own.empty() ? lines_.own_line(about_.running.backward_site()) : own;
  }

  // All that no root leads to: nothing else holds it.
  void add_graph_cycle(const LeakFinding& finding) {
    for (uint32_t tensor : finding.tensors) explained_[tensor] = true;
    Remedy remedy;
    remedy.kind = RemedyKind::break_graph_cycle;
    remedy.leak = finding;
    remedy.where = finding.advice == Advice::no_create_graph ? call_of_backward(finding.closed_at)
                                                             : lines_.own_line(finding.closed_at);
    add(std::move(remedy), freed_with(dump_, finding.tensors, about_.device));
  }

  // What backward(create_graph=True) leaves in the gradients of leaves that are in use.
  void gradient_graphs() {
    std::vector<uint32_t> gradients = retention().gradients_with_graph();
    std::erase_if(gradients, [&](uint32_t gradient) { return explained_[gradient]; });
    if (gradients.empty()) return;
    const Retained kept = retention().only_by_gradients(gradients);
    const Freed freed = freed_with(dump_, kept.tensors, about_.device);
    Remedy remedy;
    remedy.kind = RemedyKind::gradient_graph;
    remedy.names = {view_.holders.name(gradients.front())};
    remedy.count = gradients.size();
    remedy.where = call_of_backward(dump_.tensors[gradients.front()].site);
    remedy.set_bound(freed.bytes, 0);  // a pass that is to be differentiated again needs them
    if (!add(std::move(remedy), freed)) return;
    for (uint32_t tensor : kept.tensors) explained_[tensor] = true;
  }

  // Those of the tensors that nothing holds but one of these; with none: that one variable or container holds.
  std::vector<uint32_t> held_by(const std::vector<uint32_t>& tensors, const std::vector<const Series*>& holders) const {
    std::vector<uint32_t> result;
    for (uint32_t tensor : tensors) {
      const Reference* first = nullptr;
      bool only = true;
      for (const Reference& row : dump_.references.of(tensor)) {
        if (!holds(row)) continue;
        if (first == nullptr) first = &row;
        const auto in = [&](const Series* one) { return same_form(row, *one); };
        only = only && (holders.empty() ? same_form(row, *first) : std::any_of(holders.begin(), holders.end(), in));
      }
      if (only) result.push_back(tensor);
    }
    return result;
  }

  // What a running function of torch's own keeps ("args") cannot be dropped by anybody.
  bool can_be_dropped(const Reference& row) const {
    const bool local = format::ReferenceRoot(row.root) == format::ReferenceRoot::local;
    return in_plain_variable(row) && !(local && torchs_functions_.contains(row.scope));
  }

  // Everything in one list or dictionary, and other containers that hold the larger part of the same tensors.
  std::vector<const Series*> together_with(const Series& series) const {
    std::vector<const Series*> result;
    std::set<uint32_t> own;
    const auto add = [&](const Series& one) {
      result.push_back(&one);
      own.insert(one.members.back().begin(), one.members.back().end());
    };
    for (const Series& other : analysis_.series()) {
      if (other.container && same_container(other, series)) add(other);
    }
    const size_t all = own.size();
    size_t others = 0;
    for (const Series& other : analysis_.series()) {
      if (same_container(other, series) || others + 1 == kMaxTogether) continue;
      if (!can_be_dropped(other.example)) continue;
      const std::vector<uint32_t>& theirs = other.members.back();
      const auto shared = std::count_if(theirs.begin(), theirs.end(), [&](uint32_t i) { return own.contains(i); });
      if (size_t(shared) * 2 <= all) continue;
      add(other);
      ++others;
    }
    return result;
  }

  // "records[*].loss" and "records[*].logits" are one list.
  std::vector<std::string> names_of(const std::vector<const Series*>& holders) const {
    std::vector<std::string> names;
    std::vector<const Series*> named;
    for (const Series* one : holders) {
      const auto same = [&](const Series* other) { return same_container(*one, *other); };
      if (std::any_of(named.begin(), named.end(), same)) continue;
      named.push_back(one);
      const bool alone = std::count_if(holders.begin(), holders.end(), same) == 1;
      Reference whole = one->example;
      whole.text = container_of(whole.text);
      names.push_back(alone ? analysis_.label(*one) : whole.line());
    }
    return names;
  }

  bool already_told(const std::vector<uint32_t>& members) const {
    const auto known = std::count_if(members.begin(), members.end(), [&](uint32_t i) { return explained_[i]; });
    return size_t(known) * 2 > members.size();
  }

  void containers() {
    std::vector<const Series*> largest;
    for (const Series& series : analysis_.series()) {
      if (!can_be_dropped(series.example)) continue;
      if (series.container || series.growth.bytes.back() > headroom_.allocated() / 2) largest.push_back(&series);
    }
    std::stable_sort(largest.begin(), largest.end(),
                     [](const Series* a, const Series* b) { return a->growth.bytes.back() > b->growth.bytes.back(); });
    if (largest.size() > kMaxAsked) largest.resize(kMaxAsked);
    size_t added = 0;
    for (const Series* series : largest) {
      if (added == kMaxHolders) break;
      if (already_told(series->members.back())) continue;
      const std::vector<const Series*> holders = together_with(*series);
      std::set<uint32_t> members;
      for (const Series* one : holders) members.insert(one->members.back().begin(), one->members.back().end());
      const std::vector<uint32_t> own = held_by({members.begin(), members.end()}, holders);
      const Retained kept = retention().only_by(own);
      const Freed freed = freed_with(dump_, kept.tensors, about_.device);
      Remedy remedy;
      remedy.kind = RemedyKind::drop_holder;
      remedy.names = names_of(holders);
      remedy.where = made_at(own);
      weigh_graphs(remedy, own, kept, freed);
      if (!add(std::move(remedy), freed)) continue;
      ++added;
      for (uint32_t tensor : own) explained_[tensor] = true;
    }
  }

  // Where the tensors are made, where that is one line.
  std::string made_at(const std::vector<uint32_t>& members) const {
    std::string line;
    for (uint32_t tensor : members) {
      const std::string own = lines_.own_line(dump_.tensors[tensor].site);
      if (!line.empty() && own != line) return "";
      line = own;
    }
    return line;
  }

  // Whether the bytes are the tensors' own or their graphs' decides what helps.
  void weigh_graphs(Remedy& remedy, const std::vector<uint32_t>& members, const Retained& kept,
                    const Freed& freed) const {
    const uint64_t own = freed_with(dump_, members, about_.device).bytes;
    const uint64_t with_gradients = freed_with(dump_, retention().without_graph(members), about_.device).bytes;
    const uint64_t graphs = freed.bytes - std::min(with_gradients, freed.bytes);
    remedy.scalars = all_scalars(dump_, members);
    if (own >= headroom_.least()) remedy.own_bytes = own;
    if (!kept.nodes.empty() && graphs >= headroom_.least()) remedy.graph_bytes = graphs;
  }

  void add_chain(const Chain& chain) {
    if (already_told({chain.tensor})) return;
    const Freed freed = freed_with(dump_, chain.freed, about_.device);
    Remedy remedy;
    remedy.kind = chain.sum ? RemedyKind::running_sum : RemedyKind::carried_state;
    remedy.names = {analysis_.label(*chain.series)};
    remedy.variable = chain.series->example.text;
    remedy.where = lines_.own_line(chain.site);
    remedy.count = chain.length;
    if (!add(std::move(remedy), freed)) return;
    for (uint32_t tensor : chain.variables) explained_[tensor] = true;
  }

  const RemedyCase& about_;
  const Headroom& headroom_;
  const View& view_;
  const Dump& dump_;
  const LeakAnalysis analysis_;
  const LinesToChange& lines_;
  std::set<std::string> torchs_functions_;
  std::vector<bool> explained_;
  std::vector<Remedy> found_;
};

}  // namespace

std::vector<Remedy> holder_remedies(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines) {
  if (!about.views.back().dump.references.present) return {};
  return HolderFinder(about, headroom, lines).find();
}

}  // namespace tensorscope::analyzer::oom
