#include "leaks/named_entries.h"

#include <algorithm>
#include <set>

#include "leaks/births.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer {

namespace {

// One entry: what it holds in each of several layers.
struct Entry {
  std::vector<std::string> paths;
  std::vector<uint32_t> tensors;
};

// The modules in whose calls something was allocated, also where it has been freed.
std::set<std::string> called_modules(const View& view) {
  std::set<std::string> paths;
  for (uint32_t site = 1; site < view.dump.sites.size(); ++site) {
    const std::string& path = view.places.module_path(site);
    if (!path.empty()) paths.insert(path);
  }
  return paths;
}

bool called(const std::set<std::string>& modules, const Entry& entry) {
  return std::any_of(entry.paths.begin(), entry.paths.end(), [&](const std::string& path) {
    for (auto module = modules.lower_bound(path); module != modules.end() && module->starts_with(path); ++module) {
      if (within(*module, path)) return true;
    }
    return false;
  });
}

bool same_shape(const Dump& dump, uint32_t a, uint32_t b) {
  const Tensor &one = dump.tensors[a], &other = dump.tensors[b];
  return one.dtype == other.dtype && std::equal(one.sizes.begin(), one.sizes.end(), other.sizes.begin(), other.sizes.end());
}

uint64_t first_serial(const Dump& dump, const Entry& entry) {
  uint64_t first = UINT64_MAX;
  for (uint32_t tensor : entry.tensors) first = std::min(first, dump.tensors[tensor].serial);
  return first;
}

// Whether these entries came one after the other, up to now, and all but the last have been called.
bool added_in_use(const Dump& dump, const std::set<std::string>& modules, const std::vector<Entry>& entries) {
  std::vector<Birth> births;
  uint64_t newest = 0;
  for (const Entry& entry : entries) {
    const uint64_t serial = first_serial(dump, entry);
    newest = std::max(newest, serial);
    for (uint32_t tensor : entry.tensors) {
      if (dump.tensors[tensor].serial == serial) births.push_back({serial, dump.tensors[tensor].created_ns});
      if (!same_shape(dump, tensor, entries.front().tensors.front())) return false;
    }
  }
  const Births when = births_of(births, dump);
  return grew_for_long(when) && when.just_now &&
         std::all_of(entries.begin(), entries.end(), [&](const Entry& entry) {
           return first_serial(dump, entry) == newest || called(modules, entry);
         });
}

}  // namespace

std::map<NamedPlace, std::vector<NamedEntry>> alike_but_for_a_name(const std::vector<Series>& series,
                                                                  const std::function<bool(const Series&)>& wanted) {
  std::map<NamedPlace, std::vector<NamedEntry>> places;
  for (size_t number = 0; number < series.size(); ++number) {
    const Series& one = series[number];
    if (!wanted(one)) continue;
    const std::vector<std::string_view> parts = path_parts(one.form);
    // The first part is the variable, the last one the attribute of the entry.
    for (size_t part = 1; part + 1 < parts.size(); ++part) {
      if (parts[part].find('*') != std::string::npos || is_number(parts[part])) continue;
      const auto length = size_t(parts[part].data() + parts[part].size() - one.form.data());
      places[{one.example.root, one.example.scope, with_any_name(parts, part)}].push_back(
          {number, std::string(parts[part]), one.form.substr(0, length)});
    }
  }
  return places;
}

std::vector<Series> entries_added_in_use(const Case& find) {
  const Dump& dump = find.last().dump;
  const auto parameters = [&](const Series& series) {
    return format::ReferenceRole(series.example.role) == format::ReferenceRole::parameter &&
           !find.explained(series.members.back());
  };
  std::vector<Series> result;
  std::set<std::string> modules;
  for (const auto& [place, named] : alike_but_for_a_name(find.series(), parameters)) {
    std::map<std::string, Entry> by_name;
    Series whole = find.series()[named.front().series];
    whole.form = std::get<2>(place);
    whole.container = true;
    whole.members.back().clear();
    for (const NamedEntry& one : named) {
      const std::vector<uint32_t>& members = find.series()[one.series].members.back();
      Entry& entry = by_name[one.name];
      entry.paths.push_back(one.path);
      entry.tensors.insert(entry.tensors.end(), members.begin(), members.end());
      whole.members.back().insert(whole.members.back().end(), members.begin(), members.end());
    }
    if (by_name.size() < kLeastNames) continue;
    if (modules.empty()) modules = called_modules(find.last());
    std::vector<Entry> entries;
    for (auto& [name, entry] : by_name) entries.push_back(std::move(entry));
    if (added_in_use(dump, modules, entries)) result.push_back(std::move(whole));
  }
  return result;
}

}  // namespace tensorscope::analyzer
