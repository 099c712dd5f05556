#include "leaks/case.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ownership/holders.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer {

namespace {

// "head.next.next.next.value" is "head.next*.value": a chain of objects is a container, too.
std::string without_repetition(const std::string& text) {
  std::string result, last;
  bool repeated = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('.', at + 1), text.size());
    const std::string part = text.substr(at, end - at);
    if (part == last && part[0] == '.') {
      if (!repeated) result += '*';
      repeated = true;
    } else {
      result += part;
      repeated = false;
    }
    last = part;
    at = end;
  }
  return result;
}

// Whether a form is that of the pattern, whose parts may be any name where they are "*".
bool fits(const std::string& form, const std::string& pattern) {
  if (form == pattern) return true;
  const std::vector<std::string_view> names = path_parts(form), wanted = path_parts(pattern);
  if (names.size() != wanted.size()) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (wanted[i] != "*" && wanted[i] != names[i]) return false;
  }
  return true;
}

// "layers.3.adapters.de.weight" is "layers.*.adapters.*.weight" for the part of this number.
std::string with_any_name(const std::vector<std::string_view>& parts, size_t number) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += '.';
    text += i == number || is_number(parts[i]) ? "*" : parts[i];
  }
  return text;
}

// Of "memory[*].state" and "memory[*].reward" "memory[*]", of "lora_A.*" and "lora_B.*" "lora_*".
std::string in_common(const std::string& a, const std::string& b) {
  std::string text = a.substr(0, size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin()));
  if (text.ends_with('.')) text.pop_back();
  return text.ends_with('*') || text.ends_with(']') ? text : text + "*";
}

// "history[3].state" is "history[3]": the entry, without what it holds.
std::string entry_of(const std::string& text) {
  int depth = 0;
  for (size_t at = text.find('['); at < text.size(); ++at) {
    if (text[at] == '[') ++depth;
    if (text[at] == ']' && --depth == 0) return text.substr(0, at + 1);
  }
  return text;
}

}  // namespace

std::string without_indexes(const std::string& text) {
  std::string result;
  int depth = 0;
  for (char c : text) {
    if (c == ']' && depth > 0 && --depth == 0) result += "*";
    if (depth == 0) result += c;
    if (c == '[') ++depth;
  }
  return without_repetition(result);
}

std::string container_of(const std::string& form) { return form.substr(0, form.find('*')); }

bool same_form(const Reference& a, const Reference& b) {
  return a.root == b.root && a.scope == b.scope && without_indexes(a.text) == without_indexes(b.text);
}

bool in_plain_variable(const Reference& row) {
  using format::ReferenceRole;
  using format::ReferenceRoot;
  const auto root = ReferenceRoot(row.root);
  const auto role = ReferenceRole(row.role);
  const bool variable = root == ReferenceRoot::global || root == ReferenceRoot::local ||
                        root == ReferenceRoot::suspended || root == ReferenceRoot::class_;
  return variable && (role == ReferenceRole::plain || role == ReferenceRole::module_attribute);
}

bool all_scalars(const Dump& dump, std::span<const uint32_t> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](uint32_t tensor) { return dump.tensors[tensor].numel == 1; });
}

Case::Case(std::vector<View> views, bool whole)
    : views_(std::move(views)),
      whole_(whole),
      timeline_(views_),
      explained_(views_.back().dump.tensors.size()),
      nodes_explained_(views_.back().dump.graph.nodes.size()) {
  for (const View& view : views_) retentions_.push_back(std::make_unique<Retention>(view.dump, view.accounts));
  find_series();
}

void Case::find_series() {
  using Key = std::tuple<uint8_t, std::string, std::string>;
  std::map<Key, Series> all;
  for (size_t i = 0; i < views_.size(); ++i) {
    const View& view = views_[i];
    for (const Reference& row : view.dump.references.rows) {
      if (!holds(row) || !view.selection.tensor(row.tensor)) continue;
      std::string pattern = without_indexes(row.text);
      Series& series = all[{row.root, row.scope, pattern}];
      series.members.resize(views_.size());
      std::vector<uint32_t>& members = series.members[i];
      if (!members.empty() && members.back() == row.tensor) continue;
      if (members.empty()) {
        series.example = row;
        series.form = pattern;
        series.container = pattern.find('*') != std::string::npos;
      }
      members.push_back(row.tensor);
    }
  }
  for (auto& [key, series] : all) {
    if (!series.members.back().empty()) series_.push_back(std::move(series));
  }
  join_named_entries();
  for (Series& series : series_) {
    for (size_t i = 0; i < views_.size(); ++i) {
      series.growth.count.push_back(series.members[i].size());
      series.growth.bytes.push_back(bytes_of(i, series.members[i]));
    }
    for (uint32_t tensor : series.members.back()) {
      series.growth.kept.push_back(views_.back().dump.tensors[tensor].serial);
    }
  }
}

// Entries of a ModuleDict are attributes: names that are new since the first dump in one place, each with the same
// below it, are one container.
void Case::join_named_entries() {
  constexpr size_t kLeastNames = 4;
  std::map<std::tuple<uint8_t, std::string, std::string>, std::vector<size_t>> places;
  for (size_t number = 0; number < series_.size(); ++number) {
    const Series& series = series_[number];
    if (views_.size() < 2 || series.members.front().size() == series.members.back().size()) continue;
    const std::vector<std::string_view> parts = path_parts(series.form);
    // The first part is the variable, the last one the attribute of the entry.
    for (size_t part = 1; part + 1 < parts.size(); ++part) {
      if (parts[part].find('*') != std::string::npos || is_number(parts[part])) continue;
      places[{series.example.root, series.example.scope, with_any_name(parts, part)}].push_back(number);
    }
  }
  std::vector<bool> joined(series_.size());
  for (const auto& [place, numbers] : places) {
    std::vector<size_t> entries;
    for (size_t number : numbers) {
      if (!joined[number]) entries.push_back(number);
    }
    if (entries.size() < kLeastNames) continue;
    Series& whole = series_[entries.front()];
    whole.form = std::get<2>(place);
    whole.container = true;
    for (size_t number : entries) {
      joined[number] = number != entries.front();
      if (!joined[number]) continue;
      for (size_t i = 0; i < views_.size(); ++i) {
        const std::vector<uint32_t>& more = series_[number].members[i];
        whole.members[i].insert(whole.members[i].end(), more.begin(), more.end());
      }
    }
    for (std::vector<uint32_t>& members : whole.members) std::sort(members.begin(), members.end());
  }
  size_t number = 0;
  std::erase_if(series_, [&](const Series&) { return joined[number++]; });
}

std::vector<Series> Case::containers() const {
  std::map<std::tuple<uint8_t, std::string, std::string>, Series> all;
  for (const Series& series : series_) {
    if (!series.container || !timeline_.piles_up(series.growth)) continue;
    // Layers of one network are named together.
    const std::string form = with_any_name(path_parts(series.form), std::string::npos);
    const auto key = std::tuple(series.example.root, series.example.scope, container_of(form));
    const auto [found, added] = all.try_emplace(key, series);
    if (added) continue;
    Series& whole = found->second;
    whole.form = in_common(whole.several ? whole.form : with_any_name(path_parts(whole.form), std::string::npos), form);
    whole.several = true;
    for (size_t i = 0; i < views_.size(); ++i) {
      std::vector<uint32_t>& members = whole.members[i];
      members.insert(members.end(), series.members[i].begin(), series.members[i].end());
      std::sort(members.begin(), members.end());
      members.erase(std::unique(members.begin(), members.end()), members.end());
      whole.growth.count[i] = members.size();
      whole.growth.bytes[i] = bytes_of(i, members);
    }
    whole.growth.kept.insert(whole.growth.kept.end(), series.growth.kept.begin(), series.growth.kept.end());
  }
  std::vector<Series> result;
  for (auto& [key, series] : all) result.push_back(std::move(series));
  std::stable_sort(result.begin(), result.end(), [](const Series& a, const Series& b) {
    return a.growth.added_bytes() != b.growth.added_bytes() ? a.growth.added_bytes() > b.growth.added_bytes()
                                                            : a.example.steps < b.example.steps;
  });
  return result;
}

bool Case::mostly(std::span<const uint32_t> tensors, const std::function<bool(uint32_t)>& passes) const {
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

bool Case::explained(std::span<const uint32_t> tensors) const {
  return mostly(tensors, [&](uint32_t tensor) { return explained_[tensor]; });
}

void Case::add(LeakFinding finding, std::span<const uint32_t> nodes) {
  constexpr uint64_t kTenth = 10;
  for (const auto* tensors : {&finding.tensors, &finding.shared}) {
    for (uint32_t tensor : *tensors) explained_[tensor] = true;
  }
  explain(nodes);
  std::sort(finding.tensors.begin(), finding.tensors.end());
  finding.tensors.erase(std::unique(finding.tensors.begin(), finding.tensors.end()), finding.tensors.end());
  std::vector<MadeAt> memory = memory_of(finding.tensors);
  uint64_t elsewhere = 0, all = 0;
  for (const MadeAt& made : memory) {
    all += made.bytes;
    if (last().places.at(made.site).where != last().places.at(finding.site).where) elsewhere += made.bytes;
  }
  if (finding.site != 0 && elsewhere > all / kTenth) finding.memory = std::move(memory);
  findings_.push_back(std::move(finding));
}

namespace {

bool is_of(const Reference& row, const Series& series) {
  if (row.root != series.example.root || row.scope != series.example.scope) return false;
  const std::string form = without_indexes(row.text);
  if (!series.several) return fits(form, series.form);
  return with_any_name(path_parts(form), std::string::npos).starts_with(container_of(series.form));
}

}  // namespace

std::string Case::label(const Series& series) const {
  std::vector<WeighedName> weighed;
  std::vector<std::string> lines;
  for (uint32_t tensor : series.members.back()) {
    const uint64_t bytes = last().accounts.items()[last().accounts.item_of_tensor(tensor)].bytes;
    for (const Reference& row : last().dump.references.of(tensor)) {
      if (!holds(row) || !is_of(row, series)) continue;
      Reference named = row;
      if (series.several) named.text = entry_of(row.text);
      lines.push_back(named.line());
      weighed.emplace_back(lines.back(), bytes);
    }
  }
  std::string text = merged_names(weighed);
  // Keys that are no numbers have nothing in common that could be listed.
  if (series.container && name_forms(lines) > 2) {
    Reference named = series.example;
    named.text = series.form;
    text = named.line();
  }
  const bool type_known = series.container && !series.several && !series.example.holder.empty();
  return type_known ? text + " (" + series.example.holder + ")" : text;
}

uint64_t Case::bytes_of(size_t dump, std::span<const uint32_t> tensors) const {
  const Accounts& accounts = views_[dump].accounts;
  std::vector<uint32_t> items;
  for (uint32_t tensor : tensors) items.push_back(accounts.item_of_tensor(tensor));
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  uint64_t sum = 0;
  for (uint32_t item : items) sum += accounts.items()[item].bytes;
  return sum;
}

uint32_t Case::site_of(std::span<const uint32_t> tensors) const {
  if (const std::vector<MadeAt> memory = memory_of(tensors); !memory.empty()) return memory.front().site;
  std::map<uint32_t, size_t> counts;
  for (uint32_t tensor : tensors) {
    ++counts[effective_site(last().dump, last().accounts, last().places, tensor)];
  }
  auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

std::vector<MadeAt> Case::memory_of(std::span<const uint32_t> tensors) const {
  std::vector<uint32_t> items;
  for (uint32_t tensor : tensors) items.push_back(last().accounts.item_of_tensor(tensor));
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  std::map<std::string, MadeAt> lines;
  for (uint32_t item : items) {
    const Item& entry = last().accounts.items()[item];
    if (entry.bytes == 0 || entry.site == 0) continue;
    MadeAt& made = lines[last().places.at(entry.site).where];
    made.site = entry.site;
    made.bytes += entry.bytes;
  }
  std::vector<MadeAt> result;
  for (const auto& [where, made] : lines) result.push_back(made);
  std::stable_sort(result.begin(), result.end(), [](const MadeAt& a, const MadeAt& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace tensorscope::analyzer
