// SPDX-License-Identifier: Apache-2.0
#include "leaks/second_owners.h"

#include <algorithm>
#include <string>
#include <vector>

#include "leaks/forms.h"
#include "tensorscope/rules/name_forms.h"

namespace tensorscope::analyzer {

namespace {

// An entry of the same container may hold a tensor that another one holds, as the state before and after a transition.
bool is_in_container(const Reference& row, const Series& series) {
  if (row.root != series.example.root || scope_form(row) != scope_form(series.example)) return false;
  const std::string form = without_indexes(row.text);
  const auto has_it = [&](const std::string& own) {
    return fits(form, own) || container_of(form) == container_of(own);
  };
  return series.of_beginning(row) && (has_it(series.form) || std::ranges::any_of(series.joined, has_it));
}

// Whether a part of a chain that leads through the container lies behind it: to empty the container does not cut what
// else leads there. What leads to the container itself makes no difference.
bool is_behind_container(const std::string& text, const Series& series) {
  const std::string form = without_indexes(text);
  const auto has_it = [&](const std::string& own) {
    const std::string container = container_of(own);
    return form.size() > container.size() && form.starts_with(container);
  };
  return has_it(series.form) || std::ranges::any_of(series.joined, has_it);
}

// Calls f for each other way to something between the container and the tensor.
template <typename F>
void each_other_way(const References& references, const Reference& row, const Series& series, F f) {
  uint32_t place = row.shared;
  for (size_t left = references.shared.size(); place < references.shared.size() && left > 0; --left) {
    const SharedEntry& entry = references.shared[place];
    place = entry.above;
    if (!is_behind_container(entry.text, series)) continue;
    for (const Reference& other : entry.others) f(other);
  }
}

// Those that refer to much of it: a variable of the current step refers to one entry, and goes by itself.
std::string names_of(const rules::NameForms& others, uint64_t whole) {
  constexpr size_t kShown = 3;
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
  rules::NameForms others;
  for (const uint32_t tensor : members) {
    const uint64_t bytes = last.accounts.items()[last.accounts.item_of_tensor(tensor)].bytes;
    bool stays = false;
    const auto note = [&](const Reference& other) {
      if (!holds(other)) return;
      others.add(other.line(), bytes);
      stays = true;
    };
    for (const Reference& row : references.of(tensor)) {
      if (!is_in_container(row, series)) {
        note(row);
        continue;
      }
      each_other_way(references, row, series, [&](const Reference& other) {
        if (!is_in_container(other, series)) note(other);
      });
    }
    (stays ? stay : go).push_back(tensor);
  }
  const size_t dump = analysis.dumps() - 1;
  const uint64_t left = analysis.bytes_of(dump, stay);
  if (left == 0 || left * kQuarter < analysis.bytes_of(dump, members)) return;
  finding.also_held_by = names_of(others, analysis.bytes_of(dump, members));
  finding.frees_alone = analysis.retention().only_by(go).bytes;
}

}  // namespace tensorscope::analyzer
