// SPDX-License-Identifier: Apache-2.0
#include "leaks/second_owners.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "leaks/forms.h"
#include "tensorscope/rules/name_forms.h"

namespace tensorscope::analyzer {

namespace {

// "jobs[" of "jobs[1", which "jobs[10]" and "jobs[11]" have in common.
std::string up_to_an_index(const std::string& text) { return text.substr(0, text.find_last_of("[{.(") + 1); }

// What of a series' texts is the same for all its entries: "stores['default'].jobs[" of
// "stores['default'].jobs[3].args" and its neighbours, where the form has "stores[".
class OwnContainers {
 public:
  OwnContainers(const LeakAnalysis& analysis, const Series& series) : series_(series) {
    struct Texts {
      std::string in_common;
      bool differ = false;
    };
    std::map<std::string, Texts> forms;
    for (const uint32_t tensor : series.members.back()) {
      for (const Reference& row : analysis.last().dump.references.of(tensor)) {
        const std::string form = without_indexes(row.text);
        if (!is_of_series(row) || !has_form(form)) continue;
        const std::string text = without_variable_of_function(row.text);
        Texts& texts = forms.try_emplace(form, Texts{text}).first->second;
        texts.differ = texts.differ || text != texts.in_common;
        const auto end = std::ranges::mismatch(texts.in_common, text).in1;
        texts.in_common.erase(end, texts.in_common.end());
      }
    }
    for (const auto& [form, texts] : forms) {
      std::string begin = texts.differ ? up_to_an_index(texts.in_common) : "";
      begins_.push_back(begin.empty() ? container_of(without_indexes(texts.in_common)) : std::move(begin));
    }
  }

  // An entry of the same container may hold a tensor that another one holds, as the state before and after a
  // transition.
  bool has(const Reference& row) const {
    if (!is_of_series(row)) return false;
    const std::string text = without_variable_of_function(row.text);
    const auto keys_too = [&](const std::string& begin) { return leads_from(owner_of(begin), text); };
    return has_form(without_indexes(row.text)) || is_behind(row.text, 0) || std::ranges::any_of(begins_, keys_too);
  }
  // Whether a part of a chain that leads through a container lies behind it: to empty the container does not cut what
  // else leads there. What leads to the container itself makes no difference.
  bool is_behind(const std::string& whole, size_t more = 1) const {
    const std::string text = without_variable_of_function(whole);
    const std::string numberless = without_indexes(text);
    return std::ranges::any_of(begins_, [&](const std::string& begin) {
      const auto leads = [&](const std::string& way) {
        return way.size() >= begin.size() + more && way.starts_with(begin);
      };
      return leads(text) || leads(numberless);
    });
  }

 private:
  bool is_of_series(const Reference& row) const {
    return row.root == series_.example.root && scope_form(row) == scope_form(series_.example) &&
           series_.of_beginning(row);
  }
  bool has_form(const std::string& form) const {
    const auto fits_it = [&](const std::string& own) { return fits(form, own); };
    return fits_it(series_.form) || std::ranges::any_of(series_.joined, fits_it);
  }

  const Series& series_;
  std::vector<std::string> begins_;
};

// Calls f for each other way to something between the container and the tensor.
template <typename F>
void each_other_way(const References& references, const Reference& row, const OwnContainers& containers, F f) {
  uint32_t place = row.shared;
  for (size_t left = references.shared.size(); place < references.shared.size() && left > 0; --left) {
    const SharedEntry& entry = references.shared[place];
    place = entry.above;
    if (!containers.is_behind(entry.text)) continue;
    for (const Reference& other : entry.others) f(other);
  }
}

constexpr size_t kShown = 3;

// Those that refer to much of it: a variable of the current step refers to one entry, and goes by itself.
std::string names_of(const rules::NameForms& others, uint64_t whole) {
  constexpr uint64_t kEighth = 8;
  std::string text;
  size_t number = 0;
  for (const rules::NameForms::Form& form : others.largest(others.size())) {
    if (number > 0 && form.bytes < whole / kEighth) break;
    if (++number <= kShown) text += (text.empty() ? "" : "; ") + form.text;
  }
  return number > kShown ? text + " and " + std::to_string(number - kShown) + " more" : text;
}

}  // namespace

void note_second_owners(const LeakAnalysis& analysis, const Series& series, LeakFinding& finding) {
  constexpr uint64_t kQuarter = 4;
  const View& last = analysis.last();
  const References& references = last.dump.references;
  const std::vector<uint32_t>& members = series.members.back();
  std::vector<uint32_t> stay, go;
  rules::NameForms others, containers_of_others;
  const OwnContainers containers(analysis, series);
  for (const uint32_t tensor : members) {
    const uint64_t bytes = last.accounts.items()[last.accounts.item_of_tensor(tensor)].bytes;
    bool stays = false;
    const auto note = [&](const Reference& other) {
      if (!holds(other) || format::ReferenceRoot(other.root) == format::ReferenceRoot::cycle) return;
      others.add(other.line(), bytes);
      Reference any_entry = other;
      any_entry.text = without_indexes(other.text);
      containers_of_others.add(any_entry.line(), bytes);
      stays = true;
    };
    for (const Reference& row : references.of(tensor)) {
      if (!containers.has(row)) {
        note(row);
        continue;
      }
      each_other_way(references, row, containers, [&](const Reference& other) {
        if (!containers.has(other)) note(other);
      });
    }
    (stays ? stay : go).push_back(tensor);
  }
  const size_t dump = analysis.dumps() - 1;
  const uint64_t left = analysis.bytes_of(dump, stay);
  if (left == 0 || left * kQuarter < analysis.bytes_of(dump, members)) return;
  finding.also_held_by = names_of(containers_of_others.size() < others.size() ? containers_of_others : others,
                                  analysis.bytes_of(dump, members));
  finding.frees_alone = analysis.retention().only_by(go).bytes;
}

}  // namespace tensorscope::analyzer
