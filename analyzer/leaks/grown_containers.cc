// SPDX-License-Identifier: Apache-2.0
#include "leaks/grown_containers.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

#include "leaks/forms.h"
#include "leaks/growth.h"

namespace tensorscope::analyzer {

namespace {

// A key, an attribute or an index of it leads to the other.
bool is_inside(const HolderPlace& inner, const HolderPlace& outer) {
  if (inner.root != outer.root || inner.scope != outer.scope || inner.begin != outer.begin) return false;
  return inner.text.size() > outer.text.size() && leads_from(outer.text, inner.text);
}

// The parts of its text that the program has a name for: "df" of "df._mgr.<tuple>[0].<ndarray>".
ObjectContainer named_part(const ObjectContainer& row) {
  const size_t nameless = row.text.find(".<");
  if (nameless == std::string::npos || nameless == 0) return row;
  ObjectContainer named = row;
  named.text = row.text.substr(0, std::min(nameless, row.text.find("._")));
  named.type_name = named.entry_type = "";
  return named;
}

// "train.py: rows (list of dict)"
std::string full_name(const ObjectContainer& row) {
  std::string what = row.type_name;
  if (!what.empty() && !row.entry_type.empty()) what += " of " + row.entry_type;
  return what.empty() ? row.line() : row.line() + " (" + what + ")";
}

// By place; empty where not every dump has all of them.
std::vector<ContainerGrowth> all_containers(const std::vector<View>& views) {
  std::map<HolderPlace, ContainerGrowth> places;
  for (size_t i = 0; i < views.size(); ++i) {
    const References& references = views[i].dump.references;
    if (!references.has_containers || !references.containers_detail.empty()) return {};
    for (const ObjectContainer& row : references.containers) {
      const HolderPlace place{row.root, row.scope, row.text, row.begin};
      ContainerGrowth& growth = places[place];
      growth.bytes.resize(views.size());
      growth.entries.resize(views.size());
      growth.cpp_objects.resize(views.size());
      growth.bytes[i] += row.bytes;
      growth.entries[i] += row.entries;
      growth.cpp_objects[i] += row.cpp_objects;
      const ObjectContainer named = named_part(row);
      growth.name = full_name(named);
      growth.short_name = named.line();
      growth.place = place;
      if (!row.cpp_type.empty()) growth.cpp_type = row.cpp_type;
    }
  }
  std::vector<ContainerGrowth> all;
  for (auto& [place, growth] : places) all.push_back(std::move(growth));
  return all;
}

bool has_more_growth(const ContainerGrowth& a, const ContainerGrowth& b) { return a.added_bytes() > b.added_bytes(); }

// Those that have no other of these around them, the largest growth first.
std::vector<const ContainerGrowth*> outermost(const std::vector<const ContainerGrowth*>& some) {
  std::vector<const ContainerGrowth*> result;
  for (const ContainerGrowth* each : some) {
    const bool part = std::any_of(some.begin(), some.end(),
                                  [&](const ContainerGrowth* other) { return is_inside(each->place, other->place); });
    if (!part) result.push_back(each);
  }
  return result;
}

// The container itself, or a few inside it that have most of what it grew by.
void add_innermost(const ContainerGrowth& outer, const std::vector<const ContainerGrowth*>& some,
                   std::vector<ContainerGrowth>& out) {
  constexpr int64_t kMost = 3, kOf = 4;
  constexpr size_t kFew = 3;
  std::vector<const ContainerGrowth*> inside;
  for (const ContainerGrowth* each : some) {
    if (is_inside(each->place, outer.place)) inside.push_back(each);
  }
  const std::vector<const ContainerGrowth*> parts = outermost(inside);
  int64_t sum = 0;
  bool much = true;  // each of them, where they are several
  for (const ContainerGrowth* part : parts) {
    sum += part->added_bytes();
    much = much && (parts.size() == 1 || part->added_bytes() >= kMinExact * int64_t(part->bytes.size() - 1));
  }
  if (parts.empty() || parts.size() > kFew || !much || sum * kOf < outer.added_bytes() * kMost) {
    out.push_back(outer);
    return;
  }
  for (const ContainerGrowth* part : parts) add_innermost(*part, inside, out);
}

// Whether `some` becomes more as `counts` does, `each` of the one for one of the other.
bool keeps_step(const std::vector<uint64_t>& some, const std::vector<uint64_t>& counts, int64_t each) {
  for (size_t i = 1; i < counts.size(); ++i) {
    const int64_t expected = int64_t(some[i] - some[i - 1]) * each, added = int64_t(counts[i] - counts[i - 1]);
    if (std::abs(added - expected) > each) return false;
  }
  return true;
}

bool in_step(const std::vector<uint64_t>& objects, const std::vector<uint64_t>& counts) {
  const auto all_objects = int64_t(objects.back() - objects.front()), all = int64_t(counts.back() - counts.front());
  if (all_objects <= 0 || all <= 0 || !grows(objects)) return false;
  if (all < all_objects) return keeps_step(counts, objects, (all_objects + all / 2) / all);
  return keeps_step(objects, counts, (all + all_objects / 2) / all_objects);
}

// The innermost of those that have each other inside, a few at most.
std::vector<ContainerGrowth> innermost(const std::vector<ContainerGrowth>& all) {
  constexpr size_t kMost = 3;
  std::vector<ContainerGrowth> result;
  for (const ContainerGrowth& found : all) {
    const bool around = std::any_of(all.begin(), all.end(),
                                    [&](const ContainerGrowth& other) { return is_inside(other.place, found.place); });
    if (!around && result.size() < kMost) result.push_back(found);
  }
  return result;
}

}  // namespace

std::vector<ContainerGrowth> grown_containers(const std::vector<View>& views) {
  std::vector<ContainerGrowth> all = all_containers(views);
  std::erase_if(all, [](const ContainerGrowth& found) { return !grows(found.bytes); });
  std::stable_sort(all.begin(), all.end(), has_more_growth);
  std::vector<const ContainerGrowth*> some;
  for (const ContainerGrowth& found : all) some.push_back(&found);
  std::vector<ContainerGrowth> result;
  for (const ContainerGrowth* outer : outermost(some)) add_innermost(*outer, some, result);
  std::stable_sort(result.begin(), result.end(), [](const ContainerGrowth& a, const ContainerGrowth& b) {
    return a.added_bytes() > b.added_bytes();
  });
  return result;
}

std::vector<std::string> opaque_objects(const std::vector<View>& views) {
  constexpr size_t kFew = 3;
  std::map<std::pair<HolderPlace, std::string>, size_t> dumps_with;
  std::vector<std::string> names;
  for (const View& view : views) {
    for (const ObjectContainer& row : view.dump.references.containers) {
      const bool opaque = row.bytes == 0 && row.entries == 0 && row.cpp_objects == 1;
      if (!opaque || ++dumps_with[{{row.root, row.scope, row.text, row.begin}, row.cpp_type}] < views.size()) continue;
      names.push_back(row.line() + " (" + row.cpp_type + ")");
    }
  }
  return names.size() > kFew ? std::vector<std::string>() : names;
}

namespace {

std::vector<ContainerGrowth> in_use_and(const std::vector<View>& views,
                                        const std::function<bool(const ContainerGrowth&)>& asked) {
  std::vector<ContainerGrowth> all = all_containers(views);
  std::erase_if(all, [&](const ContainerGrowth& found) { return found.waits_for_collector() || !asked(found); });
  return innermost(all);
}

}  // namespace

std::vector<ContainerGrowth> containers_in_step(const std::vector<View>& views, const std::vector<uint64_t>& counts) {
  return in_use_and(views, [&](const ContainerGrowth& found) { return in_step(found.cpp_objects, counts); });
}

bool in_proportion(const std::vector<uint64_t>& things, const std::vector<uint64_t>& bytes) {
  constexpr double kTenth = 10;
  if (bytes.size() < 3 || bytes.back() <= bytes.front() || !grows(things)) return false;
  const double all = double(bytes.back() - bytes.front()) / double(things.back() - things.front());
  for (size_t i = 1; i < things.size(); ++i) {
    const double each = double(int64_t(bytes[i] - bytes[i - 1])) / double(things[i] - things[i - 1]);
    if (std::abs(each - all) * kTenth > all) return false;
  }
  return true;
}

bool grows_in_proportion(const ContainerGrowth& container, const std::vector<uint64_t>& bytes) {
  return in_proportion(container.cpp_objects, bytes);
}

std::vector<ContainerGrowth> containers_in_proportion(const std::vector<View>& views,
                                                      const std::vector<uint64_t>& bytes) {
  return in_use_and(views, [&](const ContainerGrowth& found) { return grows_in_proportion(found, bytes); });
}

}  // namespace tensorscope::analyzer
