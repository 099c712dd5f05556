// SPDX-License-Identifier: Apache-2.0
#include "symbols/places.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "symbols/user_code.h"
#include "tensorscope/rules/headline.h"

namespace tensorscope::analyzer {

std::string short_path(const std::string& path, const std::string& directory) {
  return std::string(code::short_path(path, directory));
}

std::string brief_function(const std::string& function) {
  constexpr size_t kLongest = 24;  // of template arguments
  std::string brief;
  for (size_t at = 0; at < function.size();) {
    bool is_operator = brief.ends_with("operator");
    if (function[at] != '<' || is_operator) {
      brief += function[at++];
      continue;
    }
    size_t end = at;
    int depth = 0;
    do {
      depth += function[end] == '<' ? 1 : function[end] == '>' && function[end - 1] != '-' ? -1 : 0;
      ++end;
    } while (end < function.size() && depth > 0);
    brief += end - at <= kLongest + 2 ? function.substr(at, end - at) : "<...>";
    at = end;
  }
  return brief;
}

Place Places::describe(const Frame& frame) const {
  Place place;
  place.frame = frame;
  place.file = short_path(frame.file, dump_.process.working_directory);
  place.function = frame.language == Frame::Language::native ? brief_function(frame.function) : frame.function;
  if (!place.file.empty()) {
    place.line = frame.line > 0 ? fmt::format("{}:{}", place.file, frame.line) : place.file;
    place.where = place.function.empty() ? place.line : place.line + " " + place.function;
  } else if (frame.language == Frame::Language::native && (frame.address != 0 || !frame.object.empty())) {
    place.line = frame.object.empty() ? fmt::format("{:#x}", frame.address) : frame.object;
    if (place.function.empty() && !frame.object.empty()) {
      uint64_t begin = 0;
      for (const SharedObject& object : dump_.shared_objects) {
        if (frame.address >= object.begin && frame.address < object.end) begin = object.begin;
      }
      place.function = fmt::format("+{:#x}", frame.address - begin);
    }
    place.where = place.function.empty() ? place.line : fmt::format("{} {}", place.line, place.function);
  } else if (!frame.function.empty()) {
    place.where = place.line = frame.function;
  } else {
    place.where = place.line = "(no stack)";
  }
  return place;
}

Place Places::shown(const Frame& frame) {
  unread().function(frame);
  return describe(frame);
}

const Place& Places::at(uint32_t site) {
  if (of_site_.size() <= site) of_site_.resize(std::max<size_t>(dump_.sites.size(), size_t{site} + 1));
  uint32_t& number = of_site_[site];
  if (number != 0) return places_[number - 1];
  Frame frame;
  if (site != 0 && site < dump_.sites.size()) frame = symbols_.headline(dump_.sites[site]);
  const bool earlier = dump_.process.is_earlier(site);
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{} {} {} {}", frame.function, frame.file, frame.object, frame.module, frame.line,
                  frame.address, frame.inlined, frame.language == Frame::Language::python, earlier);
  const auto [found, fresh] = numbers_.try_emplace(key, uint32_t(places_.size()) + 1);
  if (fresh) {
    const auto [scope, name] = rules::headline_function(frame.function);
    Frame named = frame;
    named.function = fmt::format("{}{}", scope, name);
    Place& place = places_.emplace_back(shown(named));
    place.frame = std::move(frame);
    if (earlier) place.where = place.line = "(made before tensorscope was attached)";
  }
  number = found->second;
  return places_[number - 1];
}

const std::vector<Frame>& Places::stack(uint32_t site) {
  auto found = stacks_.find(site);
  if (found != stacks_.end()) return found->second;
  std::vector<Frame> frames;
  if (site != 0 && site < dump_.sites.size()) frames = symbols_.merged(dump_.sites[site]);
  return stacks_.emplace(site, std::move(frames)).first->second;
}

const std::string& Places::stack_key(uint32_t site) {
  auto found = keys_.find(site);
  if (found != keys_.end()) return found->second;
  std::string key;
  for (const Frame& frame : stack(site)) {
    key += describe(frame).where;
    key += '\n';
  }
  return keys_.emplace(site, std::move(key)).first->second;
}

const std::string& Places::module_path(uint32_t site) {
  auto found = modules_.find(site);
  if (found != modules_.end()) return found->second;
  std::string path;
  if (site != 0 && site < dump_.sites.size()) path = symbols_.module_path(dump_.sites[site]);
  return modules_.emplace(site, std::move(path)).first->second;
}

std::string Places::source_line(uint32_t site) { return symbols_.source_line(at(site).frame); }

std::vector<std::string> Places::calling_places(uint32_t site, size_t most, TopLevel top_level) {
  if (site == 0 || site >= dump_.sites.size()) return {};
  const Frame& place = at(site).frame;
  const uint32_t python = dump_.sites[site].python;
  const bool qualified = names_are_qualified(dump_);
  std::vector<std::string> found;
  std::string last = at(site).where;
  bool passed = false;
  bool in_place = false;  // still in the function that the place is called by: its comprehensions have frames
  for (Frame frame : python != 0 ? symbols_.python(python) : stack(site)) {
    const bool is_python = frame.language == Frame::Language::python;
    const Owner owner =
        is_python ? python_owner(frame.file, package_) : native_owner(frame.object, frame.function, frame.file);
    const bool comprehension = is_python && is_comprehension(frame.function);
    if (passed && !in_place && !comprehension && owner == Owner::user && found.size() < most) {
      if (is_python) frame.function = enclosing_function(frame.function, qualified);
      std::string caller = shown(frame).where;
      const bool shown_here = top_level == TopLevel::shown || frame.function != "<module>";
      if (caller != last && shown_here) found.push_back(caller);  // recursion stands once
      last = std::move(caller);
    }
    in_place = in_place && comprehension;
    const bool is_place = frame.file == place.file && frame.line == place.line && frame.address == place.address &&
                          (is_python || frame.function == place.function);
    if (is_place && !passed) passed = true, in_place = comprehension;
  }
  return found;
}

std::string Places::callers(uint32_t site) {
  constexpr size_t kMost = 3;
  return fmt::format("{}", fmt::join(calling_places(site, kMost, TopLevel::left_out), " <- "));
}

void Places::prefetch(const std::vector<uint32_t>& sites, bool whole_stacks) {
  std::vector<uint32_t> leaves;
  for (uint32_t site : sites) {
    if (site == 0 || site >= dump_.sites.size()) continue;
    const Site& entry = dump_.sites[site];
    if (entry.native != 0 && (whole_stacks || entry.python == 0)) leaves.push_back(entry.native);
  }
  std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  if (!leaves.empty()) symbols_.prefetch(leaves);
}

}  // namespace tensorscope::analyzer
