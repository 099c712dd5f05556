// SPDX-License-Identifier: Apache-2.0
#include "leaks/leaks.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "dump/sort_by_serial.h"
#include "leaks/forms.h"
#include "leaks/larger_inputs.h"
#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

namespace {

bool is_fresh(const LeakAnalysis& analysis, uint32_t tensor) {
  const View& last = analysis.last();
  const uint64_t before = analysis.view(0).dump.process.snapshot_serial;
  const Item& item = last.accounts.items()[last.accounts.item_of_tensor(tensor)];
  const uint64_t memory = item.allocation == kNone ? 0 : last.dump.allocations[item.allocation].serial;
  return std::max(last.dump.tensors[tensor].serial, memory) > before;
}

bool memory_at(const LeakAnalysis& analysis, uint32_t tensor, const PlaceGrowth& place) {
  const View& last = analysis.last();
  const Item& item = last.accounts.items()[last.accounts.item_of_tensor(tensor)];
  return item.bytes > 0 && last.places.at(item.site).where == place.label;
}

// What a place grew by: its memory that is younger than the first dump, or, where none is, its tensors that are.
std::vector<uint32_t> fresh(const LeakAnalysis& analysis, const PlaceGrowth& place) {
  std::vector<uint32_t> tensors, with_memory;
  for (uint32_t tensor : place.tensors) {
    if (!is_fresh(analysis, tensor)) continue;
    tensors.push_back(tensor);
    if (memory_at(analysis, tensor, place)) with_memory.push_back(tensor);
  }
  return with_memory.empty() ? tensors : with_memory;
}

// The finding that explains most of these tensors' bytes, or most of what the place grew by: gradients that are made
// anew in each step at the same line are not its growth.
uint32_t explaining(const LeakAnalysis& analysis, const std::vector<LeakFinding>& findings,
                    const std::vector<uint32_t>& tensors, const Growth& growth) {
  for (uint32_t i = 0; i < findings.size(); ++i) {
    const auto explains = [&](uint32_t tensor) {
      return std::binary_search(findings[i].tensors.begin(), findings[i].tensors.end(), tensor) ||
             std::binary_search(findings[i].shared.begin(), findings[i].shared.end(), tensor);
    };
    if (analysis.mostly(tensors, explains)) return i;
    std::vector<uint32_t> own;
    std::ranges::copy_if(tensors, std::back_inserter(own), explains);
    const auto own_bytes = int64_t(analysis.bytes_of(analysis.dumps() - 1, own));
    if (growth.added_bytes() > 0 && own_bytes * 2 > growth.added_bytes()) return i;
  }
  if (!analysis.explained(tensors)) return kNone;
  // Several findings explain it together: that of most of them.
  uint32_t most = kNone;
  size_t most_tensors = 0;
  for (uint32_t i = 0; i < findings.size(); ++i) {
    const auto own = size_t(std::count_if(tensors.begin(), tensors.end(), [&](uint32_t tensor) {
      return std::binary_search(findings[i].tensors.begin(), findings[i].tensors.end(), tensor);
    }));
    if (own > most_tensors) most = i;
    most_tensors = std::max(most_tensors, own);
  }
  return most;
}

// A finding about memory that only C++ holds may rest on blocks alone.
uint32_t explaining(const std::vector<LeakFinding>& findings, uint32_t site) {
  for (uint32_t i = 0; i < findings.size(); ++i) {
    if (findings[i].kind == LeakKind::cpp_only && findings[i].tensors.empty() && findings[i].site == site) return i;
  }
  return kNone;
}

// First holders by root, each storage's bytes once.
struct Held {
  Holder::Kind kind = Holder::Kind::cpp;  // of the one that holds the most
  std::vector<HeldShare> shares;
};

Held held_by(const View& last, const std::vector<uint32_t>& tensors) {
  struct Root {
    Holder::Kind kind;
    uint64_t bytes = 0;
    std::vector<WeighedName> names;
  };
  std::map<std::pair<std::string, Holder::Kind>, Root> roots;
  std::set<uint32_t> counted;
  for (uint32_t tensor : tensors) {
    if (last.holders.holders(tensor).empty()) continue;
    const uint32_t item = last.accounts.item_of_tensor(tensor);
    const uint64_t bytes = counted.insert(item).second ? last.accounts.items()[item].bytes : 0;
    const Holder& holder = last.holders.holders(tensor).front();
    Root& root = roots.try_emplace({holder.root, holder.kind}, Root{holder.kind, 0, {}}).first->second;
    root.bytes += bytes;
    root.names.emplace_back(holder.brief, bytes);
  }
  std::vector<const Root*> order;
  for (const auto& [key, root] : roots) order.push_back(&root);
  std::stable_sort(order.begin(), order.end(), [](const Root* a, const Root* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->names.size() > b->names.size();
  });
  Held held;
  if (!order.empty()) held.kind = order.front()->kind;
  for (const Root* root : order) held.shares.push_back({merged_names(root->names), root->bytes});
  return held;
}

std::vector<HeldShare> all_that_hold(const View& last, uint32_t tensor) {
  std::string holders = all_holders(last, tensor);
  if (holders.empty()) return {};
  return {{std::move(holders), last.accounts.items()[last.accounts.item_of_tensor(tensor)].bytes}};
}

// What was not looked through; "" where a limit ended the search for names.
std::string why_not_known(const Dump& dump) {
  const References& references = dump.references;
  const bool python = !dump.process.python_version.empty();
  if (!references.present && python) return "references were not recorded";
  if (!python || references.complete) return dump.graph.gap();
  if (format::NamesLimit(references.stopped_by) != format::NamesLimit::none) return "";
  return references.detail.empty() ? "not all of Python was looked through" : references.detail;
}

GrownPlace grown_place(const LeakAnalysis& analysis, const std::vector<LeakFinding>& findings, PlaceGrowth place,
                       bool in_place) {
  GrownPlace grown;
  grown.in_place = in_place;
  std::vector<uint32_t> tensors = in_place ? place.tensors : fresh(analysis, place);
  grown.finding =
      tensors.empty() ? explaining(findings, place.site) : explaining(analysis, findings, tensors, place.growth);
  grown.slows = analysis.timeline().slows_down(place.growth);
  grown.remarked = grown.finding == kNone && !tensors.empty() && analysis.explained(tensors);
  const bool profiled = place.growth.added_bytes() == 0 && profiler_is_on(analysis.views());
  grown.counts =
      weighs_enough(place.growth.added_bytes(), place.growth.added()) && !grown.slows && !grown.remarked && !profiled;
  if (grown.finding == kNone) {
    Held held = held_by(analysis.last(), tensors);
    grown.held_by = held.kind;
    grown.holder_unknown =
        analysis.mostly(tensors, [&](uint32_t tensor) { return analysis.retention().not_known(tensor); });
    const Dump& dump = analysis.last().dump;
    const bool no_references = !dump.references.present && !dump.process.python_version.empty();
    if (grown.holder_unknown || no_references) grown.names_detail = why_not_known(dump);
    grown.held = in_place && tensors.size() == 1 ? all_that_hold(analysis.last(), tensors[0]) : std::move(held.shares);
  }
  grown.place = std::move(place);
  return grown;
}

// Tensors that were made at one line in memory that was made at another are not a second leak.
void leave_memory_to_its_place(const LeakAnalysis& analysis, std::vector<GrownPlace>& places) {
  for (GrownPlace& grown : places) {
    if (grown.finding != kNone || grown.place.growth.added_bytes() > 0) continue;
    const std::vector<uint32_t> tensors = fresh(analysis, grown.place);
    for (const GrownPlace& other : places) {
      if (&other == &grown || other.place.growth.added_bytes() <= 0) continue;
      const bool there =
          analysis.mostly(tensors, [&](uint32_t tensor) { return memory_at(analysis, tensor, other.place); });
      if (tensors.empty() || !there) continue;
      grown.memory_at = other.place.label;
      grown.counts = false;
    }
  }
}

// What holds the earlier data is made while that is still there. A model of the next trial, which is wider, is made
// when that of the trial before is gone.
bool replaces_what_is_gone(const LeakAnalysis& analysis, const PlaceGrowth& place) {
  uint64_t largest = 0;
  for (const uint32_t tensor : place.tensors) {
    if (memory_at(analysis, tensor, place))
      largest = std::max(largest, analysis.bytes_of(analysis.dumps() - 1, {&tensor, 1}));
  }
  return largest > 0 && place.peaks.back() < place.growth.bytes.back() + largest / 2;
}

// Inputs that become larger, and what was made from them afterwards, are no leak.
void leave_larger_inputs(const LeakAnalysis& analysis, std::vector<GrownPlace>& places) {
  std::vector<uint32_t> tensors;
  uint64_t first = UINT64_MAX;
  for (const GrownPlace& grown : places) {
    if (!grown.in_place) continue;
    tensors.insert(tensors.end(), grown.place.tensors.begin(), grown.place.tensors.end());
    if (!replaces_what_is_gone(analysis, grown.place)) continue;
    for (const uint32_t tensor : grown.place.tensors) first = std::min(first, made_at(analysis.last(), tensor));
  }
  first = std::min(first, first_larger_input(analysis.last(), tensors));
  for (GrownPlace& grown : places) {
    const auto earliest_serial = [&](uint32_t tensor) { return made_at(analysis.last(), tensor) >= first; };
    if (!grown.in_place || grown.finding != kNone || !std::ranges::all_of(grown.place.tensors, earliest_serial))
      continue;
    grown.larger_input = true;
    grown.counts = false;
  }
}

// What is made anew and larger each time, and somebody is known to hold.
bool is_finding(const GrownPlace& grown) {
  return grown.in_place && grown.counts && grown.finding == kNone && !grown.holder_unknown && !grown.held.empty() &&
         grown.held_by != Holder::Kind::cpp && grown.held_by != Holder::Kind::unknown;
}

LeakFinding finding_of(const GrownPlace& grown) {
  LeakFinding finding;
  finding.kind = LeakKind::larger_tensor;
  finding.holders = {grown.held.front().holder};
  finding.advice = Advice::bound_earlier_data;
  finding.growth = grown.place.growth;
  finding.bytes = finding.growth.bytes.back();
  finding.site = grown.place.site;
  finding.evidence = {{FactKind::made_anew}, {FactKind::storage_size, finding.growth.bytes}};
  finding.tensors = grown.place.tensors;
  return finding;
}

bool grew_more(const LeakFinding& a, const LeakFinding& b) {
  const int64_t growth_a = a.growth.added_bytes(), growth_b = b.growth.added_bytes();
  return growth_a != growth_b ? growth_a > growth_b : a.bytes > b.bytes;
}

// The objects whose attributes these tensors are.
std::set<HolderPlace> owners_of(const LeakAnalysis& analysis, const std::vector<uint32_t>& tensors) {
  std::set<HolderPlace> owners;
  for (const uint32_t tensor : tensors) {
    for (const Reference& row : analysis.last().dump.references.of(tensor)) {
      const size_t dot = row.text.rfind('.');
      if (holds(row) && dot != std::string::npos)
        owners.insert({row.root, row.scope, row.text.substr(0, dot), row.begin});
    }
  }
  return owners;
}

bool share_an_owner(const std::set<HolderPlace>& a, const std::set<HolderPlace>& b) {
  return std::ranges::any_of(a, [&](const HolderPlace& owner) { return b.contains(owner); });
}

void join_attribute(LeakFinding& whole, LeakFinding part) {
  if (whole.memory.empty()) whole.memory = {{whole.site, whole.bytes}};
  whole.memory.push_back({part.site, part.bytes});
  for (size_t i = 0; i < whole.growth.bytes.size(); ++i) {
    whole.growth.bytes[i] += part.growth.bytes[i];
    whole.growth.count[i] += part.growth.count[i];
  }
  whole.bytes = whole.growth.bytes.back();
  whole.evidence = {{FactKind::made_anew}, {FactKind::storage_size, whole.growth.bytes}};
  whole.holders.push_back(std::move(part.holders.front()));
  whole.tensors.insert(whole.tensors.end(), part.tensors.begin(), part.tensors.end());
  std::ranges::sort(whole.tensors);
}

// What nearly all of these tensors are reached from, by a variable or what its object has; "" where nothing is.
std::string common_owner(const LeakAnalysis& analysis, const std::vector<uint32_t>& tensors) {
  constexpr size_t kSmallPart = 8;
  std::map<std::string, std::set<uint32_t>> reached;
  const References& references = analysis.last().dump.references;
  for (const uint32_t tensor : tensors) {
    for (const Reference& row : references.of(tensor)) {
      if (!keeps(references, row)) continue;
      Reference owner = row;
      owner.text = nearest_to_root(row.text);
      if (owner.text == row.text) continue;  // one tensor, perhaps of one of several calls
      reached[owner.line()].insert(tensor);
    }
  }
  const auto most = std::ranges::max_element(reached, {}, [](const auto& each) { return each.second.size(); });
  if (most == reached.end() || (tensors.size() - most->second.size()) * kSmallPart > tensors.size()) return "";
  return most->first;
}

// What piles up in something whose parts have no name that they share: a list of linked objects of C, a tree,
// functions that wrap each other.
std::optional<LeakFinding> piled_up(const LeakAnalysis& analysis, const GrownPlace& grown) {
  const bool asked = !grown.in_place && grown.counts && grown.finding == kNone && !grown.holder_unknown;
  if (!asked || analysis.timeline().weak() || grown.held_by != Holder::Kind::python) return std::nullopt;
  LeakFinding finding;
  finding.tensors = fresh(analysis, grown.place);
  const std::string owner = common_owner(analysis, finding.tensors);
  if (owner.empty()) return std::nullopt;
  finding.holders = {owner};
  finding.advice = Advice::bound_earlier_data;
  finding.growth = grown.place.growth;
  finding.bytes = finding.growth.bytes.back();
  finding.site = grown.place.site;
  finding.evidence = {{FactKind::entries, finding.growth.count}};
  std::ranges::sort(finding.tensors);
  return finding;
}

// Keys and values of one cache are replaced together: one leak.
void add_findings_of_places(const LeakAnalysis& analysis, Leaks& leaks) {
  const size_t before = leaks.findings.size();
  std::vector<std::set<HolderPlace>> owners;
  for (GrownPlace& grown : leaks.places) {
    if (std::optional<LeakFinding> finding = piled_up(analysis, grown)) {
      owners.emplace_back();
      grown.finding = uint32_t(leaks.findings.size());
      leaks.findings.push_back(std::move(*finding));
    }
    if (!is_finding(grown)) continue;
    std::set<HolderPlace> own = owners_of(analysis, grown.place.tensors);
    const auto same =
        std::ranges::find_if(owners, [&](const std::set<HolderPlace>& other) { return share_an_owner(own, other); });
    grown.finding = uint32_t(before + size_t(same - owners.begin()));
    if (same != owners.end()) {
      join_attribute(leaks.findings[grown.finding], finding_of(grown));
      continue;
    }
    owners.push_back(std::move(own));
    leaks.findings.push_back(finding_of(grown));
  }
  leaks.sort_findings();
}

// Of tensors: memory outside of them is in no live bytes.
int64_t grown_by(const LeakFinding& finding) {
  const bool outside = finding.kind == LeakKind::process_memory || finding.kind == LeakKind::child_processes;
  return outside ? 0 : finding.growth.added_bytes();
}

// Bytes of the memory of these tensors that the step made which ran at this dump.
uint64_t bytes_of_running_step(const LeakAnalysis& analysis, size_t dump, std::vector<uint32_t> tensors) {
  const View& view = analysis.view(dump);
  const uint64_t since = running_since(view.dump);
  std::erase_if(tensors, [&](uint32_t tensor) {
    const Item& item = view.accounts.items()[view.accounts.item_of_tensor(tensor)];
    return item.allocation == kNone || view.dump.allocations[item.allocation].serial <= since;
  });
  return analysis.bytes_of(dump, tensors);
}

// What a finding counts as its growth is not the running step's, too, though the last dump's step has made some of it.
int64_t explained_of_running_steps(const LeakAnalysis& analysis, const Leaks& leaks) {
  std::vector<uint32_t> first, last;
  const auto add = [&](const LeakFinding& finding) {
    for (const auto* tensors : {&finding.tensors, &finding.shared})
      last.insert(last.end(), tensors->begin(), tensors->end());
    for (const uint64_t serial : finding.growth.first) {
      const uint32_t tensor = row_with(analysis.view(0).dump.tensors, serial);
      if (tensor != kNone) first.push_back(tensor);
    }
  };
  for (const LeakFinding& finding : leaks.findings) add(finding);
  for (const Remark& remark : leaks.remarks) add(remark.what);
  return int64_t(bytes_of_running_step(analysis, analysis.dumps() - 1, std::move(last)) -
                 bytes_of_running_step(analysis, 0, std::move(first)));
}

GrowthShares growth_shares(const LeakAnalysis& analysis, const Leaks& leaks) {
  GrowthShares shares;
  shares.all = int64_t(leaks.bytes.back() - leaks.bytes.front());
  for (const LeakFinding& finding : leaks.findings) shares.findings += grown_by(finding);
  for (const Remark& remark : leaks.remarks) shares.remarks += grown_by(remark.what);
  if (leaks.at_ends.known) shares.running = leaks.at_ends.running() - explained_of_running_steps(analysis, leaks);
  return shares;
}

size_t count_with_holders(const std::vector<View>& views) {
  return size_t(std::ranges::count_if(views, [](const View& view) { return !view.dump.moment; }));
}

}  // namespace

bool Leaks::found() const {
  return !findings.empty() || std::any_of(places.begin(), places.end(), [](const GrownPlace& grown) {
    return grown.counts && grown.finding == kNone;
  });
}

void Leaks::sort_findings(const std::function<bool(const LeakFinding&)>& holds) {
  std::vector<uint32_t> order, now(findings.size(), kNone);
  for (uint32_t i = 0; i < findings.size(); ++i) {
    if (holds(findings[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return grew_more(findings[a], findings[b]); });
  std::vector<LeakFinding> sorted;
  for (uint32_t i = 0; i < order.size(); ++i) {
    sorted.push_back(std::move(findings[order[i]]));
    now[order[i]] = i;
  }
  findings = std::move(sorted);
  for (GrownPlace& grown : places) {
    if (grown.finding != kNone) grown.finding = now[grown.finding];
  }
}

constexpr size_t kMaxUnclear = 3;

Leaks find_leaks(std::vector<View> views, bool unfiltered) {
  Leaks result;
  result.dumps = views.size();
  for (const View& view : views) result.bytes.push_back(view.selection.bytes());
  LeakAnalysis analysis(std::move(views), unfiltered);
  result.weak = analysis.timeline().weak();
  for (auto* family : {find_tracebacks, find_graph_cycles, find_cycles, find_small_views, find_autocast_cache,
                       find_kept_graphs, find_gone_parameters, find_state_of_parameters, find_two_dtypes,
                       find_larger_tensors, find_containers, find_unfinished_calls, find_stray_leaves, find_cpp_storage,
                       find_seldom_larger, find_loose_nodes, find_process_memory, find_child_processes}) {
    family(analysis);
  }
  result.findings = analysis.take_findings();
  result.remarks = analysis.take_remarks();
  const auto is_cycle = [](const LeakFinding& finding) { return finding.kind == LeakKind::reference_cycle; };
  if (std::none_of(result.findings.begin(), result.findings.end(), is_cycle)) {
    result.passing_cycles = unreachable_cycles(analysis, /*that_stay=*/false);
  }
  std::ranges::stable_sort(result.findings, grew_more);
  std::ranges::stable_sort(result.remarks, grew_more, &Remark::what);
  const std::vector<View>& all = analysis.views();
  if (unfiltered) result.process = process_growth(all);
  // Moments of a recording know no holders, so that one dump is all that shows any.
  if (count_with_holders(all) < 2 && !analysis.last().dump.moment) {
    result.suspects = find_suspects(analysis);
    compare_with_history(analysis.last(), result.suspects, result.replaced);
  }
  result.trend = run_trend(analysis.last().dump);
  if (result.dumps < 2) return result;
  if (unfiltered) result.at_ends = growth_at_ends(all.front().dump, all.back().dump);
  for (PlaceGrowth& place : growing_places(all, analysis.timeline())) {
    const bool in_place = grows_in_place(place, analysis.timeline());
    // Tensors that were there before and got memory, as parameters do that are made at the first use.
    const bool no_more = analysis.timeline().weak() && place.growth.added() <= 0;
    const bool accumulates = in_place || (analysis.timeline().is_accumulating(place.growth) && !no_more);
    const int64_t least = result.weak ? 1 : int64_t(kMinGrowth);
    if (!accumulates && (result.unclear.size() >= kMaxUnclear || place.growth.added_bytes() < least)) continue;
    GrownPlace grown = grown_place(analysis, result.findings, std::move(place), in_place);
    if (accumulates) {
      result.places.push_back(std::move(grown));
    } else if (grown.finding == kNone && !grown.remarked) {
      result.unclear.push_back(std::move(grown));
    }
  }
  leave_memory_to_its_place(analysis, result.places);
  leave_larger_inputs(analysis, result.places);
  add_findings_of_places(analysis, result);
  result.growth = growth_shares(analysis, result);
  if (result.found() || result.growth.rest() < int64_t(kMinGrowth)) result.unclear.clear();
  return result;
}

}  // namespace tensorscope::analyzer
