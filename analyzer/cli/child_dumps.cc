// SPDX-License-Identifier: Apache-2.0
#include "cli/child_dumps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/dump_options.h"
#include "dump/run_dumps.h"
#include "text/leaks/report.h"

namespace tensorscope::cli {

namespace {

// Whether dumps are of one process, at moments of which its children may have written dumps as well.
bool may_have_children(const std::vector<analyzer::Dump>& dumps) {
  return dumps.size() > 1 && std::ranges::all_of(dumps, [&](const analyzer::Dump& dump) {
           return !dump.moment && dump.process.run_id == dumps.front().process.run_id;
         });
}

}  // namespace

std::vector<std::vector<analyzer::Dump>> children_beside(const std::vector<analyzer::Dump>& dumps, const ReadDump& read,
                                                         Invocation& invocation) {
  constexpr size_t kMaxFiles = 4096, kMaxNames = 4;
  if (!may_have_children(dumps)) return {};
  std::map<std::string, std::vector<analyzer::Dump>> children;
  for (const std::string& path : analyzer::dumps_of_children_beside(dumps, kMaxFiles)) {
    analyzer::Dump dump = read(path);
    children[dump.process.run_id].push_back(std::move(dump));
  }
  const size_t with_any = std::erase_if(children, [](const auto& child) { return child.second.size() < 2; });
  if (children.empty() && with_any > 0) {
    invocation.say(
        fmt::format("child processes wrote one dump each with these, which shows no growth: a later dump of "
                    "process {} lets those that go on growing write another",
                    dumps.front().process.pid));
  }
  std::vector<std::vector<analyzer::Dump>> found;
  std::vector<std::string> names;
  for (auto& [run, child] : children) {
    for (const analyzer::Dump& dump : child) names.push_back(std::filesystem::path(dump.path).filename().string());
    found.push_back(std::move(child));
  }
  if (names.empty()) return found;
  const size_t shown = std::min(names.size(), kMaxNames);
  const std::string rest = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  invocation.say(fmt::format("child processes wrote dumps with these, which are read, too: {}{}",
                             fmt::join(names.begin(), names.begin() + ptrdiff_t(shown), ", "), rest));
  return found;
}

void add_children(analyzer::Leaks& found, const std::vector<analyzer::View>& parent,
                  std::vector<std::vector<analyzer::Dump>> children, const analyzer::Filter& filter,
                  const analyzer::SymbolOptions& symbols, Invocation& invocation) {
  for (std::vector<analyzer::Dump>& child : children) {
    analyzer::ComparedDumps dumps(std::move(child), filter, symbols);
    for (const analyzer::ExcludedDump& left_out : dumps.leave_out_incomparable())
      invocation.say(text::left_out_line(left_out));
    report_without_names(invocation, dumps);
    if (dumps.size() < 2) continue;
    analyzer::Leaks leaks = analyzer::find_leaks(dumps.views(), filter.empty());
    analyzer::confirm_since_beginning(leaks, dumps.views(), parent);
    found.growth.children += leaks.growth.lasting();
    analyzer::add_findings_of_child(found, dumps.views(), std::move(leaks));
  }
  if (!children.empty()) analyzer::leave_out_explained_children(found);
}

}  // namespace tensorscope::cli
