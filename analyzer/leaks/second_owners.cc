// SPDX-License-Identifier: Apache-2.0
#include "leaks/second_owners.h"

#include <algorithm>
#include <map>
#include <set>
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
  OwnContainers(const LeakAnalysis& analysis, const Series& series) : series_(series), linked_(is_linked(series)) {
    if (linked_) {
      begins_ = {owner_of(series.form)};
      return;
    }
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
  // else leads there. What leads to the container itself makes no difference, but a list of linked objects
  // ("head.next*") is cut at its head.
  bool is_behind(const std::string& text) const { return is_behind(text, linked_ ? 0 : 1); }
  bool is_behind(const std::string& whole, size_t more) const {
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
  // "head.next*" of "head.next.next.next".
  static bool is_linked(const Series& series) {
    const std::string container = container_of(series.form);
    const size_t dot = container.rfind('.');
    if (dot == std::string::npos || container.size() == series.form.size()) return false;
    const std::string step = container.substr(dot);
    return step.size() > 1 && series.example.text.find(step + step) != std::string::npos;
  }
  bool is_of_series(const Reference& row) const {
    return row.root == series_.example.root && scope_form(row) == scope_form(series_.example) &&
           series_.of_beginning(row);
  }
  bool has_form(const std::string& form) const {
    const auto fits_it = [&](const std::string& own) { return fits(form, own); };
    return fits_it(series_.form) || std::ranges::any_of(series_.joined, fits_it);
  }

  const Series& series_;
  const bool linked_;
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

// Of the members that others hold, too, by whom. A variable of the current step refers to one of them, and goes by
// itself; what is cut must be what leads to nearly all.
class Others {
 public:
  void add(const Reference& other, uint32_t tensor, uint64_t bytes) {
    if (bytes_of_.try_emplace(tensor, bytes).second) all_ += bytes;
    Reference named = other;
    exact_.add(named.line(), tensor, bytes);
    named.text = without_indexes(other.text);
    containers_.add(named.line(), tensor, bytes);
    named.text = nearest_to_root(other.text);
    owners_.add(named.line(), tensor, bytes);
  }

  // The fewest and most exact names that lead to nearly all.
  std::string names() const {
    const Names& few = containers_.forms.size() < exact_.forms.size() ? containers_ : exact_;
    return text_of(!lead_to_nearly_all(few) && lead_to_nearly_all(owners_) ? owners_ : few);
  }

 private:
  static constexpr size_t kShown = 3;
  static constexpr uint64_t kSmallPart = 8;

  struct Names {
    rules::NameForms forms;
    std::map<std::string, std::set<uint32_t>> tensors;  // by form

    void add(const std::string& name, uint32_t tensor, uint64_t bytes) {
      forms.add(name, bytes);
      tensors[without_digits(without_indexes(name))].insert(tensor);
    }
  };

  bool lead_to_nearly_all(const Names& names) const {
    std::vector<const std::set<uint32_t>*> largest;
    for (const auto& [form, tensors] : names.tensors) largest.push_back(&tensors);
    std::ranges::stable_sort(largest, [](const auto* a, const auto* b) { return a->size() > b->size(); });
    std::set<uint32_t> reached;
    for (size_t i = 0; i < std::min(kShown, largest.size()); ++i)
      reached.insert(largest[i]->begin(), largest[i]->end());
    uint64_t left = all_;
    for (const uint32_t tensor : reached) left -= bytes_of_.at(tensor);
    return left * kSmallPart <= all_;
  }

  std::string text_of(const Names& names) const {
    std::string text;
    size_t number = 0;
    for (const rules::NameForms::Form& form : names.forms.largest(names.forms.size())) {
      if (number > 0 && form.bytes < all_ / kSmallPart) break;
      if (++number <= kShown) text += (text.empty() ? "" : "; ") + form.text;
    }
    if (number > kShown) return text + " and " + std::to_string(number - kShown) + " more";
    return lead_to_nearly_all(names) ? text : text + " and others";
  }

  std::map<uint32_t, uint64_t> bytes_of_;
  uint64_t all_ = 0;
  Names exact_, containers_, owners_;  // as they are; with any index; by what a variable or its object has
};

}  // namespace

void note_second_owners(const LeakAnalysis& analysis, const Series& series, LeakFinding& finding) {
  constexpr uint64_t kQuarter = 4;
  const View& last = analysis.last();
  const References& references = last.dump.references;
  const std::vector<uint32_t>& members = series.members.back();
  std::vector<uint32_t> stay, go;
  Others others;
  const OwnContainers containers(analysis, series);
  for (const uint32_t tensor : members) {
    const uint64_t bytes = last.accounts.items()[last.accounts.item_of_tensor(tensor)].bytes;
    bool stays = false;
    const auto note = [&](const Reference& other) {
      if (!holds(other) || format::ReferenceRoot(other.root) == format::ReferenceRoot::cycle) return;
      others.add(other, tensor, bytes);
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
  finding.also_held_by = others.names();
  finding.frees_alone = analysis.retention().only_by(go).bytes;
}

}  // namespace tensorscope::analyzer
