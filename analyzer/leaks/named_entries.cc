// SPDX-License-Identifier: Apache-2.0
#include "leaks/named_entries.h"

#include "leaks/forms.h"
#include "support/dotted_path.h"

namespace tensorscope::analyzer {

std::map<NamedPlace, std::vector<NamedEntry>> alike_wanted_entries(const std::vector<Series>& series,
                                                                   const WantsEntry& wants, bool numbers) {
  std::map<NamedPlace, std::vector<NamedEntry>> places;
  for (size_t number = 0; number < series.size(); ++number) {
    const Series& one = series[number];
    const std::vector<std::string_view> parts = path_parts(one.form);
    // The first part is the variable, the last one the attribute of the entry.
    for (size_t part = 1; part + 1 < parts.size(); ++part) {
      if (parts[part].find('*') != std::string::npos || is_number(parts[part]) != numbers) continue;
      const auto length = size_t(parts[part].data() + parts[part].size() - one.form.data());
      if (!wants(one, one.form.substr(0, length))) continue;
      const std::string form = numbers ? with_any(parts, part) : with_any_name(parts, part);
      const NamedPlace place = {one.example.root, one.example.scope, form, one.beginnings};
      places[place].push_back({number, std::string(parts[part])});
    }
  }
  return places;
}

namespace {

// "bank.*" of "bank.left"; "": it is no attribute. Variables of running calls and of the main script are none.
std::string with_any_attribute(const Series& series) {
  const std::vector<std::string_view> parts = path_parts(series.form);
  const bool of_module =
      format::ReferenceRoot(series.example.root) == format::ReferenceRoot::global && series.example.begin.known();
  if (parts.size() < 2 && !of_module) return "";
  if (parts.empty() || parts.back().find_first_of("*[{ ") != std::string::npos) return "";
  return series.form.substr(0, series.form.size() - parts.back().size()) + "*";
}

std::map<NamedPlace, std::vector<NamedEntry>> attributes_of_one_object(const std::vector<Series>& series) {
  std::map<NamedPlace, std::vector<NamedEntry>> places;
  for (size_t number = 0; number < series.size(); ++number) {
    const Series& one = series[number];
    const std::string form = with_any_attribute(one);
    if (!form.empty())
      places[{one.example.root, one.example.scope, form, one.beginnings}].push_back({number, one.form});
  }
  return places;
}

}  // namespace

std::map<NamedPlace, std::vector<NamedEntry>> alike_but_for_a_name(const std::vector<Series>& series, Names names) {
  if (names == Names::any)
    return alike_wanted_entries(
        series, [](const Series&, const std::string&) { return true; }, false);
  if (names == Names::of_attributes) return attributes_of_one_object(series);
  std::map<NamedPlace, std::vector<NamedEntry>> places;
  for (size_t number = 0; number < series.size(); ++number) {
    const Series& one = series[number];
    const std::string form = without_numbers(one.form);
    if (form != one.form)
      places[{one.example.root, one.example.scope, form, one.beginnings}].push_back({number, one.form});
  }
  return places;
}

}  // namespace tensorscope::analyzer
