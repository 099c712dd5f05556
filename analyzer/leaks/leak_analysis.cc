// SPDX-License-Identifier: Apache-2.0
#include "leaks/leak_analysis.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "leaks/births.h"
#include "leaks/renamed_containers.h"
#include "ownership/holders.h"

namespace tensorscope::analyzer {

std::string all_holders(const View& view, uint32_t tensor) {
  constexpr size_t kMax = 3;
  std::string text;
  const std::vector<Holder>& holders = view.holders.holders(tensor);
  for (size_t i = 0; i < holders.size() && i < kMax; ++i) text += (i == 0 ? "" : "; ") + holders[i].brief;
  return text;
}

bool all_scalars(const Dump& dump, std::span<const uint32_t> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](uint32_t tensor) { return dump.tensors[tensor].numel == 1; });
}

std::vector<uint64_t> tensor_serials(const Dump& dump, const std::vector<uint32_t>& tensors) {
  std::vector<uint64_t> serials;
  for (uint32_t tensor : tensors) serials.push_back(dump.tensors[tensor].serial);
  return serials;
}

namespace {

// What the text of a reference has in common with those to other members of its series.
std::string form_of(const Reference& row) {
  const std::string form = without_indexes(row.text);
  return kept_by_atexit(row) ? with_any_handler(form) : form;
}

}  // namespace

namespace {

void add_member(Series& series, size_t dump, const Reference& row, const std::string& form) {
  std::vector<uint32_t>& members = series.members[dump];
  if (!members.empty() && members.back() == row.tensor) return;
  if (members.empty()) {
    series.example = row;
    series.form = form;
    series.container = series.container || form.find('*') != std::string::npos;
  }
  if (series.example.scope != row.scope) {
    // A threading.local of several threads; of a generator its keeper has another name in another dump.
    series.example.scope = scope_form(row);
    series.container = series.container || format::ReferenceRoot(row.root) != format::ReferenceRoot::suspended;
  }
  members.push_back(row.tensor);
}

bool in_one_dump(const Series& a, const Series& b) {
  for (size_t i = 0; i < a.members.size(); ++i) {
    if (!a.members[i].empty() && !b.members[i].empty()) return true;
  }
  return false;
}

// The same variable of other calls.
void join(const Series& from, Series& to) {
  bool later = false;
  for (size_t i = 0; i < to.members.size(); ++i) {
    if (to.members[i].empty() != from.members[i].empty()) later = to.members[i].empty();
  }
  add_members(from, to);
  if (to.example.scope != from.example.scope) to.example.scope = scope_form(to.example);
  if (later) {
    to.example = from.example;
    to.form = from.form;
  }
  to.container = to.container || from.container;
  if (to.example.which != from.example.which)
    to.example.which = from.example.begin.depth != 0 ? "several calls" : "several objects";
  to.beginnings.insert(to.beginnings.end(), from.beginnings.begin(), from.beginnings.end());
  for (size_t i = 0; i < to.beginning_counts.size(); ++i) to.beginning_counts[i] += from.beginning_counts[i];
}

}  // namespace

LeakAnalysis::LeakAnalysis(std::vector<View> views, bool unfiltered)
    : views_(std::move(views)),
      unfiltered_(unfiltered),
      timeline_(views_),
      explained_(views_.back().dump.tensors.size()),
      nodes_explained_(views_.back().dump.graph.nodes.size()) {
  for (const View& view : views_) retentions_.push_back(std::make_unique<Retention>(view.dump, view.accounts));
  find_series();
}

namespace {

// What is in no container that could be named, but in more and more objects of one kind: those that C code holds, and
// modules that are imported under one name after the other.
bool objects_become_more(const Series& series) {
  if (!grows(series.beginning_counts)) return false;
  const bool modules =
      series.of_many_modules() && series.beginning_counts.back() - series.beginning_counts.front() >= kMinNames;
  return modules || format::ReferenceRoot(series.example.root) == format::ReferenceRoot::extension;
}

}  // namespace

void LeakAnalysis::find_series() {
  using Key = std::tuple<uint8_t, std::string, std::string>;
  std::map<Key, std::map<Beginning, Series>> all;
  for (size_t i = 0; i < views_.size(); ++i) {
    const View& view = views_[i];
    for (const Reference& row : view.dump.references.rows) {
      if (!keeps(view.dump.references, row) || !view.selection.tensor(row.tensor)) continue;
      const std::string form = form_of(row);
      Series& series = all[{row.root, scope_form(row), form}][row.begin];
      series.members.resize(views_.size());
      add_member(series, i, row, form);
    }
  }
  for (auto& [key, calls] : all) add_series_of(calls);
  join_renamed(views_, series_);
  std::erase_if(series_, [](const Series& series) { return series.members.back().empty(); });
  join_named_entries();
  for (Series& series : series_) {
    for (size_t i = 0; i < views_.size(); ++i) {
      series.growth.count.push_back(series.members[i].size());
      series.growth.bytes.push_back(bytes_of(i, series.members[i]));
    }
    series.growth.first = tensor_serials(views_.front().dump, series.members.front());
    series.growth.kept = tensor_serials(views_.back().dump, series.members.back());
    series.container = series.container || objects_become_more(series);
  }
}

// Whether what one running call keeps becomes more, whatever other calls of the function do. One dump shows a number.
bool LeakAnalysis::grows_alone(const Series& series) const {
  if (series.members.back().size() < kMinGenerations) return false;
  if (dumps() == 1) return true;
  Growth growth;
  for (size_t i = 0; i < dumps(); ++i) {
    growth.count.push_back(series.members[i].size());
    growth.bytes.push_back(bytes_of(i, series.members[i]));
  }
  return timeline_.every_interval(growth);
}

// Variables of one name are several where several calls of the function run at once. One that grows by itself is a
// series of its own. The others are one: calls may become more, each of which keeps a little.
void LeakAnalysis::add_series_of(std::map<Beginning, Series>& calls) {
  const auto beside_another = [&](const Beginning& call) {
    return std::any_of(calls.begin(), calls.end(), [&](const auto& other) {
      return other.first != call && in_one_dump(other.second, calls[call]);
    });
  };
  std::optional<Series> others;
  for (auto& [call, series] : calls) {
    if (calls.size() > 1) {
      series.beginnings = {call};
      for (const std::vector<uint32_t>& members : series.members)
        series.beginning_counts.push_back(members.empty() ? 0 : 1);
    }
    if (calls.size() > 1 && call.known() && beside_another(call) && grows_alone(series)) {
      series_.push_back(series);
    } else if (others) {
      join(series, *others);
    } else {
      others = series;
    }
  }
  if (others) series_.push_back(std::move(*others));
}

// Attributes of an object and entries of a ModuleDict or ModuleList have names: where new ones come in every interval,
// those of one place are one container, with those that were there before.
void LeakAnalysis::join_named_entries() {
  if (views_.size() < 2) return;
  for (const Names names : {Names::any, Names::that_differ_in_numbers, Names::of_attributes}) {
    std::vector<bool> joined(series_.size());
    for (auto& [place, entries] : alike_but_for_a_name(series_, names)) {
      std::erase_if(entries, [&](const NamedEntry& entry) { return joined[entry.series]; });
      if (!names_become_more(entries, names)) continue;
      const size_t first = entries.front().series;
      Series& whole = series_[first];
      whole.form = std::get<2>(place);
      whole.container = true;
      for (const NamedEntry& entry : entries) {
        joined[entry.series] = entry.series != first;
        if (joined[entry.series]) add_members(series_[entry.series], whole);
      }
    }
    size_t number = 0;
    std::erase_if(series_, [&](const Series&) { return joined[number++]; });
  }
}

// Whether these become more in every interval, by so many in all that no model is changed by hand. Names that differ in
// their numbers alone are not any names. Attributes of an object are given to it by other means, too: they are entries
// where as many come in each of several intervals.
bool LeakAnalysis::names_become_more(const std::vector<NamedEntry>& entries, Names names) const {
  std::vector<uint64_t> counts(views_.size()), added(views_.size());
  std::set<std::string> new_ones;
  for (const NamedEntry& entry : entries) {
    const std::vector<std::vector<uint32_t>>& members = series_[entry.series].members;
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += !members[i].empty();
    for (size_t i = 1; i < counts.size(); ++i) added[i] += members[i - 1].empty() && !members[i].empty();
    if (!members.front().empty() || members.back().empty()) continue;
    new_ones.insert(names == Names::any ? without_digits(entry.name) : entry.name);
  }
  const bool in_each = std::all_of(added.begin() + 1, added.end(), [](uint64_t count) { return count >= kMinNames; });
  if (names == Names::of_attributes && (views_.size() < 3 || !in_each)) return false;
  return grows(counts) && new_ones.size() >= kMinNames;
}

namespace {

bool more_was_added(const Series& a, const Series& b) {
  return a.growth.added_bytes() != b.growth.added_bytes() ? a.growth.added_bytes() > b.growth.added_bytes()
                                                          : a.example.steps < b.example.steps;
}

// "metric.*]" of "metric._predictions[*]", for which it is the same as for other attributes that are such lists; "" of
// a variable's own container.
std::string form_for_any_attribute(const std::string& form) {
  const std::string container = container_of(form);
  const size_t dot = container.rfind('.');
  return dot == std::string::npos ? "" : container.substr(0, dot + 1) + form.substr(container.size());
}

}  // namespace

std::vector<Series> LeakAnalysis::containers() const {
  std::vector<const Series*> piling_up;
  for (const Series& series : series_) {
    if (series.container && timeline_.is_accumulating(series.growth)) piling_up.push_back(&series);
  }
  return with_siblings_joined(joined_by_container(piling_up));
}

// Lists (or dicts) of one object that get as many entries in every interval are fed together: one leak.
std::vector<Series> LeakAnalysis::with_siblings_joined(std::vector<Series> containers) const {
  std::map<std::tuple<uint8_t, std::string, std::string, std::vector<Beginning>, std::vector<uint64_t>>, size_t> places;
  std::vector<Series> result;
  for (Series& series : containers) {
    const std::string form = form_for_any_attribute(series.form);
    const auto key =
        std::tuple(series.example.root, series.example.scope, form, series.beginnings, series.growth.count);
    const auto [found, added] = places.try_emplace(key, result.size());
    if (added || form.empty()) {
      result.push_back(std::move(series));
    } else {
      join_container(series, result[found->second]);
    }
  }
  std::ranges::stable_sort(result, more_was_added);
  return result;
}

void LeakAnalysis::join_container(const Series& from, Series& to) const {
  if (to.joined.empty()) to.joined.push_back(to.form);
  to.joined.push_back(from.form);
  to.joined.insert(to.joined.end(), from.joined.begin(), from.joined.end());
  to.form = in_common(to.several ? to.form : with_any_number(to.form), with_any_number(from.form));
  to.several = true;
  add_members(from, to);
  for (size_t i = 0; i < views_.size(); ++i) {
    to.growth.count[i] = to.members[i].size();
    to.growth.bytes[i] = bytes_of(i, to.members[i]);
  }
  to.growth.first.insert(to.growth.first.end(), from.growth.first.begin(), from.growth.first.end());
  to.growth.kept.insert(to.growth.kept.end(), from.growth.kept.begin(), from.growth.kept.end());
}

std::vector<Series> LeakAnalysis::joined_by_container(const std::vector<const Series*>& some) const {
  std::map<std::tuple<uint8_t, std::string, std::string, std::vector<Beginning>>, Series> all;
  for (const Series* each : some) {
    const Series& series = *each;
    // Layers of one network are named together.
    const std::string form = with_any_number(series.form);
    const auto key = std::tuple(series.example.root, series.example.scope,
                                series.of_many_modules() ? "" : owner_of(form), series.beginnings);
    const auto [found, added] = all.try_emplace(key, series);
    if (added) continue;
    if (container_of(form) != container_of(with_any_number(found->second.form))) found->second.keys_too = true;
    join_container(series, found->second);
  }
  std::vector<Series> result;
  for (auto& [key, series] : all) result.push_back(std::move(series));
  std::ranges::stable_sort(result, more_was_added);
  return result;
}

bool LeakAnalysis::mostly(std::span<const uint32_t> tensors, const std::function<bool(uint32_t)>& passes) const {
  struct Share {
    uint64_t tensors = 0, passing = 0;
  };
  std::map<uint32_t, Share> items;
  for (uint32_t tensor : tensors) {
    Share& share = items[last().accounts.item_of_tensor(tensor)];
    share.tensors += 1;
    share.passing += passes(tensor);
  }
  uint64_t bytes = 0, passing_bytes = 0, passing = 0;
  for (const auto& [item, share] : items) {
    bytes += last().accounts.items()[item].bytes;
    if (share.passing > 0) passing_bytes += last().accounts.items()[item].bytes;
    passing += share.passing;
  }
  return bytes > 0 ? passing_bytes * 2 > bytes : passing * 2 > tensors.size();
}

bool LeakAnalysis::explained(std::span<const uint32_t> tensors) const {
  return mostly(tensors, [&](uint32_t tensor) { return explained_[tensor]; });
}

namespace {

// Of sorted tensors those whose memory goes with them: a graph that saved a view of a weight does not hold the weight.
std::vector<uint32_t> that_go_with(const View& view, const Retention& retention, const std::vector<uint32_t>& tensors) {
  std::vector<uint32_t> result;
  const auto goes = [&](uint32_t tensor) {
    return std::binary_search(tensors.begin(), tensors.end(), tensor) || view.dump.references.freed(tensor) ||
           retention.is_only_a_base(tensor);
  };
  for (uint32_t tensor : tensors) {
    const uint32_t storage = view.dump.tensors[tensor].storage;
    if (storage == kNone || std::ranges::all_of(view.dump.storages[storage].tensors, goes)) result.push_back(tensor);
  }
  return result.empty() ? tensors : result;
}

}  // namespace

namespace {

// IPython's Out, by its name in the namespace of the notebook (IPython/core/displayhook.py, update_user_ns).
bool is_cell_output(const std::string& holder) { return holder.starts_with("__main__: _oh["); }

}  // namespace

// The tensors whose memory the finding's bytes are.
std::vector<uint32_t> LeakAnalysis::counted_in(const LeakFinding& finding) const {
  std::vector<uint32_t> tensors = that_go_with(last(), retention(), finding.tensors);
  tensors.insert(tensors.end(), finding.shared.begin(), finding.shared.end());
  return tensors;
}

void LeakAnalysis::complete(LeakFinding& finding) {
  constexpr uint64_t kTenth = 10;
  for (const auto* tensors : {&finding.tensors, &finding.shared}) {
    for (uint32_t tensor : *tensors) explained_[tensor] = true;
  }
  if (!finding.holders.empty() && is_cell_output(finding.holders.front())) finding.advice = Advice::clear_cell_outputs;
  std::sort(finding.tensors.begin(), finding.tensors.end());
  finding.tensors.erase(std::unique(finding.tensors.begin(), finding.tensors.end()), finding.tensors.end());
  std::vector<CreationSite> memory = memory_of(counted_in(finding));
  uint64_t elsewhere = 0, all = 0;
  for (const CreationSite& made : memory) {
    all += made.bytes;
    if (last().places.at(made.site).where != last().places.at(finding.site).where) elsewhere += made.bytes;
  }
  if (finding.site != 0 && elsewhere > all / kTenth) finding.memory = std::move(memory);
}

void LeakAnalysis::add(LeakFinding finding, std::span<const uint32_t> nodes) {
  explain(nodes);
  if (rests_on_growth(finding.kind) && timeline_.slows_down(finding.growth))
    return add_remark(Remark::Reason::slows, std::move(finding));
  complete(finding);
  findings_.push_back(std::move(finding));
}

void LeakAnalysis::add_remark(Remark::Reason reason, LeakFinding what) {
  complete(what);
  remarks_.push_back({reason, std::move(what)});
}

namespace {

// Whether its scope says no more what keeps the one generator or coroutine that has it.
bool of_several_waiting_calls(const Series& series) {
  return format::ReferenceRoot(series.example.root) == format::ReferenceRoot::suspended &&
         series.example.scope.find('*') != std::string::npos;
}

bool is_of(const Reference& row, const Series& series) {
  if (row.root != series.example.root || !series.of_beginning(row)) return false;
  if (scope_form(row) != scope_form(series.example)) return false;
  const std::string form = form_of(row);
  if (!series.several) return fits(form, series.form);
  return with_any_number(form).starts_with(container_of(series.form));
}

}  // namespace

void LeakAnalysis::each_reference(const Series& series,
                                  const std::function<void(uint32_t tensor, const Reference& row)>& take) const {
  for (uint32_t tensor : series.members.back()) {
    for (const Reference& row : last().dump.references.of(tensor)) {
      if (!holds(row) || !is_of(row, series)) continue;
      Reference named = row;
      if (series.several) {
        named.text = series.keys_too ? owner_of(form_of(row)) : entry_of(row.text);
        named.role = series.example.role;
      }
      if (of_several_waiting_calls(series)) named.scope = series.example.scope;
      take(tensor, named);
    }
  }
}

std::vector<HolderPlace> LeakAnalysis::places_of(const Series& series) const {
  constexpr size_t kMost = 64;
  std::vector<HolderPlace> places;
  std::set<std::string> known;
  each_reference(series, [&](uint32_t, const Reference& row) {
    std::string entry = entry_of(without_variable_of_function(row.text));
    if (known.size() == kMost || !known.insert(entry).second) return;
    places.push_back({row.root, row.scope, std::move(entry), row.begin});
  });
  return places;
}

LeakFinding* LeakAnalysis::finding_of(const HolderPlace& container) {
  const auto found = std::ranges::find_if(findings_, [&](const LeakFinding& finding) {
    return std::ranges::any_of(finding.places,
                               [&](const HolderPlace& place) { return same_container(place, container); });
  });
  return found == findings_.end() ? nullptr : &*found;
}

LeakFinding* LeakAnalysis::finding_with(Advice advice) {
  const auto found = std::ranges::find(findings_, advice, &LeakFinding::advice);
  return found == findings_.end() ? nullptr : &*found;
}

LeakFinding* LeakAnalysis::finding_made_at(const std::string& where) {
  const auto found = std::ranges::find_if(findings_, [&](const LeakFinding& finding) {
    return finding.site != 0 && last().places.at(finding.site).where == where;
  });
  return found == findings_.end() ? nullptr : &*found;
}

bool profiler_is_on(const std::vector<View>& views) {
  return std::ranges::all_of(views, [](const View& view) { return !view.dump.references.profilers.empty(); });
}

std::string LeakAnalysis::label(const Series& series) const {
  MergedNames names;
  each_reference(series, [&](uint32_t tensor, const Reference& row) {
    names.add(row.line(), last().accounts.items()[last().accounts.item_of_tensor(tensor)].bytes);
  });
  std::string text = names.text();
  // Keys that are no numbers have nothing in common that could be listed.
  if (series.container && names.forms() > 2) {
    CommonIndexes common(series.form);
    each_reference(series, [&](uint32_t, const Reference& row) { common.add(row.text); });
    Reference named = series.example;
    named.text = common.text();
    // What a few attributes have in common is no path.
    constexpr size_t kFew = 4;
    const bool path = named.text.find('*') == std::string::npos || named.text.ends_with(']');
    text = path || names.forms() > kFew ? named.line() : names.text(kFew);
  }
  const bool type_known = series.container && !series.several && !series.example.holder.empty();
  return type_known ? text + " (" + series.example.holder + ")" : text;
}

uint64_t LeakAnalysis::bytes_of(size_t dump, std::span<const uint32_t> tensors) const {
  const Accounts& accounts = views_[dump].accounts;
  std::vector<uint32_t> items;
  for (uint32_t tensor : tensors) items.push_back(accounts.item_of_tensor(tensor));
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  uint64_t sum = 0;
  for (uint32_t item : items) sum += accounts.items()[item].bytes;
  return sum;
}

uint32_t LeakAnalysis::site_of(std::span<const uint32_t> tensors) const {
  if (const std::vector<CreationSite> memory = memory_of(tensors); !memory.empty()) return memory.front().site;
  std::map<uint32_t, size_t> counts;
  for (uint32_t tensor : tensors) {
    ++counts[effective_site(last().dump, last().accounts, last().places, tensor)];
  }
  auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

std::vector<CreationSite> LeakAnalysis::memory_of(std::span<const uint32_t> tensors) const {
  std::vector<uint32_t> items;
  for (uint32_t tensor : tensors) items.push_back(last().accounts.item_of_tensor(tensor));
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  std::map<std::string, CreationSite> lines;
  for (uint32_t item : items) {
    const Item& entry = last().accounts.items()[item];
    if (entry.bytes == 0 || entry.site == 0) continue;
    CreationSite& made = lines[last().places.at(entry.site).where];
    made.site = entry.site;
    made.bytes += entry.bytes;
  }
  std::vector<CreationSite> result;
  for (const auto& [where, made] : lines) result.push_back(made);
  std::stable_sort(result.begin(), result.end(),
                   [](const CreationSite& a, const CreationSite& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace tensorscope::analyzer
