// SPDX-License-Identifier: Apache-2.0
#include "values/wrapped_names.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tensorscope/rules/wrapper_paths.h"

namespace tensorscope::values {

namespace {

constexpr size_t kMaxOwn = 4;  // segments `module` of a name that may be the program's

// A name without the wrappers' segments.
struct Shortened {
  std::string text;
  size_t left_out = 0;
  std::string wrapper;  // "model.module": the first `module` that was left out, and what is before it
};

std::vector<Shortened> all_shortened(const std::string& name) {
  std::vector<rules::WrapperPlace> own, others;
  for (const rules::WrapperPlace& place : rules::wrapper_places(name)) {
    (place.may_be_own && own.size() < kMaxOwn ? own : others).push_back(place);
  }
  std::vector<Shortened> all;
  for (unsigned which = 0; which < 1u << own.size(); ++which) {
    std::vector<rules::WrapperPlace> places = others;
    Shortened now;
    for (size_t i = 0; i < own.size(); ++i) {
      if ((which >> i & 1) == 0) continue;
      if (now.wrapper.empty()) now.wrapper = name.substr(0, own[i].end);
      places.push_back(own[i]);
    }
    std::sort(places.begin(), places.end(), [](const auto& x, const auto& y) { return x.begin < y.begin; });
    now.text = rules::without_places(name, places);
    now.left_out = places.size();
    all.push_back(std::move(now));
  }
  return all;
}

struct Candidate {
  std::string name;
  size_t left_out;
  std::string wrapper;
};

}  // namespace

Partners find_partners(const std::set<std::string>& a, const std::set<std::string>& b) {
  Partners partners;
  std::unordered_map<std::string, std::vector<Candidate>> by_text;
  for (const std::string& name : b) {
    if (a.contains(name)) continue;
    for (Shortened& each : all_shortened(name)) {
      // A name of both is compared with itself: what is left of this one is what its wrapper is called.
      const bool is_wrapped = a.contains(each.text) && b.contains(each.text);
      if (!is_wrapped) by_text[each.text].push_back({name, each.left_out, each.wrapper});
    }
  }
  std::set<std::string> wrappers[2];
  std::unordered_set<std::string> of_a;
  for (const std::string& name : a) {
    if (b.contains(name) || by_text.empty()) continue;
    const Candidate* best = nullptr;
    std::string wrapper;
    size_t least = SIZE_MAX;
    for (const Shortened& each : all_shortened(name)) {
      const auto found = by_text.find(each.text);
      if (found == by_text.end()) continue;
      for (const Candidate& candidate : found->second) {
        const size_t left_out = each.left_out + candidate.left_out;
        if (left_out < least) {
          least = left_out;
          best = &candidate;
          wrapper = each.wrapper;
        } else if (left_out == least && best && best->name != candidate.name) {
          best = nullptr;
        }
      }
    }
    if (!best || !partners.of_b.emplace(best->name, name).second) continue;
    of_a.insert(name);
    wrappers[0].insert(wrapper);
    wrappers[1].insert(best->wrapper);
  }
  for (int side : {0, 1}) {
    const std::set<std::string>&mine = side == 0 ? a : b, &others = side == 0 ? b : a;
    const auto is_compared = [&](const std::string& name) {
      return mine.contains(name) &&
             (others.contains(name) || (side == 0 ? of_a.contains(name) : partners.of_b.contains(name)));
    };
    for (const std::string& name : mine) {
      if (is_compared(name)) continue;
      for (const rules::WrapperPlace& place : rules::wrapper_places(name)) {
        const bool known = !place.may_be_own || wrappers[side].contains(name.substr(0, place.end));
        if (known && is_compared(rules::without_places(name, {place}))) partners.wrapped.insert(name);
      }
    }
  }
  return partners;
}

}  // namespace tensorscope::values
