// SPDX-License-Identifier: Apache-2.0
#include "leaks/added_entries.h"

#include <algorithm>
#include <unordered_set>

#include "leaks/births.h"
#include "leaks/named_entries.h"

namespace tensorscope::analyzer {

namespace {

// The modules in whose calls something was allocated, also where it has been freed, and those around them.
std::unordered_set<std::string> called_modules(const Dump& dump) {
  std::unordered_set<uint64_t> objects;
  for (const PythonFrame& frame : dump.python_frames) objects.insert(frame.module_object);
  std::unordered_set<std::string> paths;
  for (const uint64_t object : objects) {
    const auto found = dump.module_names.find(object);
    if (found == dump.module_names.end()) continue;
    const std::string& path = found->second.path;
    for (size_t end = path.size(); end != std::string::npos && end > 0; end = path.rfind('.', end - 1)) {
      if (!paths.insert(path.substr(0, end)).second) break;
    }
  }
  return paths;
}

bool same_shape(const Dump& dump, uint32_t a, uint32_t b) {
  const Tensor &one = dump.tensors[a], &other = dump.tensors[b];
  return one.dtype == other.dtype &&
         std::equal(one.sizes.begin(), one.sizes.end(), other.sizes.begin(), other.sizes.end());
}

// The newest of each entry's first tensors.
uint64_t newest_entry(const Dump& dump, const std::map<std::string, std::vector<uint32_t>>& entries) {
  uint64_t newest = 0;
  for (const auto& [name, tensors] : entries) {
    uint64_t first = UINT64_MAX;
    for (uint32_t tensor : tensors) first = std::min(first, dump.tensors[tensor].serial);
    newest = std::max(newest, first);
  }
  return newest;
}

// Whether modules were called before that. Each allocation and each tensor has a number of its own, so those made in
// calls are no more than the numbers given since, if all calls came later: the first pass through what was just built.
bool called_before(const Dump& dump, uint64_t serial) {
  std::vector<bool> in_call(dump.python_frames.size());
  for (size_t i = 1; i < in_call.size(); ++i) {
    const PythonFrame& frame = dump.python_frames[i];
    in_call[i] = dump.module_names.contains(frame.module_object) || (frame.parent < i && in_call[frame.parent]);
  }
  uint64_t made = 0;
  for (const Site& site : dump.sites) {
    if (site.python < in_call.size() && in_call[site.python]) made += site.allocations_total + site.tensors_total;
  }
  return made > dump.process.snapshot_serial - std::min(serial, dump.process.snapshot_serial);
}

// When these entries were made, of which each may have a tensor in several layers. Nothing where they are not alike.
Births births_of_entries(const Dump& dump, const std::map<std::string, std::vector<uint32_t>>& entries) {
  const uint32_t example = entries.begin()->second.front();
  std::vector<Birth> births;
  for (const auto& [name, tensors] : entries) {
    Birth first{UINT64_MAX, 0};
    for (uint32_t tensor : tensors) {
      if (!same_shape(dump, tensor, example)) return {};
      const Tensor& row = dump.tensors[tensor];
      if (row.serial < first.serial) first = {row.serial, row.created_ns};
    }
    births.push_back(first);
  }
  return births_of(births, dump);
}

bool in_an_optimizer(const Dump& dump, uint32_t tensor) { return dump.references.tensors[tensor].optimized; }

// Entries with numbers are most often the layers of a model, which are alike. They are not where they were made in
// different steps, while the program trained others: an optimizer has parameters, but hardly any of these.
bool numbers_are_no_layers(const Dump& dump, const std::vector<uint32_t>& tensors, const Births& births) {
  constexpr size_t kOf = 4;
  if (births.steps < kMinGenerations) return false;
  const auto optimized =
      std::count_if(tensors.begin(), tensors.end(), [&](uint32_t tensor) { return in_an_optimizer(dump, tensor); });
  if (size_t(optimized) * kOf > tensors.size()) return false;
  for (uint32_t tensor = 0; tensor < dump.tensors.size(); ++tensor) {
    if (in_an_optimizer(dump, tensor)) return true;
  }
  return false;
}

void add_entries(const LeakAnalysis& analysis, const std::unordered_set<std::string>& called, bool numbers,
                 std::vector<Series>& result) {
  const Dump& dump = analysis.last().dump;
  const auto wants = [&](const Series& series, const std::string& path) {
    return format::ReferenceRole(series.example.role) == format::ReferenceRole::parameter && called.contains(path) &&
           !analysis.explained(series.members.back());
  };
  for (const auto& [place, named] : alike_wanted_entries(analysis.series(), wants, numbers)) {
    std::map<std::string, std::vector<uint32_t>> entries;
    Series whole = analysis.series()[named.front().series];
    whole.form = std::get<2>(place);
    whole.container = true;
    whole.members.back().clear();
    for (const NamedEntry& one : named) {
      const std::vector<uint32_t>& members = analysis.series()[one.series].members.back();
      for (std::vector<uint32_t>* all : {&entries[one.name], &whole.members.back()}) {
        all->insert(all->end(), members.begin(), members.end());
      }
    }
    if (entries.size() < kMinNames) continue;
    const Births births = births_of_entries(dump, entries);
    if (!grew_for_long(births) || !called_before(dump, newest_entry(dump, entries))) continue;
    if (!numbers || numbers_are_no_layers(dump, whole.members.back(), births)) result.push_back(std::move(whole));
  }
}

}  // namespace

std::vector<Series> entries_added_in_use(const LeakAnalysis& analysis) {
  const std::unordered_set<std::string> called = called_modules(analysis.last().dump);
  std::vector<Series> result;
  if (called.empty()) return result;
  for (const bool numbers : {false, true}) add_entries(analysis, called, numbers, result);
  return result;
}

}  // namespace tensorscope::analyzer
