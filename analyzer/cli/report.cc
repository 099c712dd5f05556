// SPDX-License-Identifier: Apache-2.0
// report: what is alive in a dump, device by device, and the places that made the most of it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "dump/reader.h"
#include "memory/difference.h"
#include "memory/module_sums.h"
#include "memory/peak_places.h"
#include "text/dump/driver_table.h"
#include "text/dump/first_sentences.h"
#include "text/dump/group_table.h"
#include "text/dump/headline.h"
#include "text/dump/history.h"
#include "text/dump/holders.h"
#include "text/dump/live_table.h"
#include "text/dump/module_table.h"
#include "text/dump/moment_phrases.h"
#include "text/dump/segment_table.h"
#include "text/filter_words.h"
#include "text/shell_word.h"
#include "text/table.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

constexpr uintmax_t kLargestOpenedToo = uintmax_t{32} << 20;  // of the dump before: a report stays quick

using analyzer::Group;
using analyzer::GroupBy;

enum class GroupSort { bytes, count, age, name };

struct ReportOptions {
  std::string dump;
  GroupBy by = GroupBy::line;
  GroupSort sort = GroupSort::bytes;
  size_t top = 10;
  bool full_stacks = false;
  bool modules = false;   // the model's tree instead of groups
  bool full = false;      // of it: repeated modules apart
  bool segments = false;  // what the allocators of devices hold, instead of groups
  bool peak = false;      // what was alive at the highest peak, instead of what is alive
  bool launches = false;  // kernels and copies instead of groups
  analyzer::Filter filter;
  analyzer::SymbolOptions symbols;
};

void sort_groups(std::vector<Group>& groups, GroupSort sort) {
  auto before = [sort](const Group& a, const Group& b) {
    if (sort == GroupSort::count && a.tensors != b.tensors) return a.tensors > b.tensors;
    if (sort == GroupSort::age && a.oldest_ns != b.oldest_ns) return a.oldest_ns < b.oldest_ns;
    if (sort != GroupSort::name && a.bytes != b.bytes) return a.bytes > b.bytes;
    if (sort != GroupSort::name && a.tensors != b.tensors) return a.tensors > b.tensors;
    return std::tie(a.label, a.key) < std::tie(b.label, b.key);
  };
  std::sort(groups.begin(), groups.end(), before);
}

constexpr size_t kHintIndent = 7;

// What to look at next: the largest tensor, and the usual second step.
std::string hints(const analyzer::OpenedDump& opened, const std::vector<Group>& groups, GroupBy by,
                  const std::string& earlier, const text::Terminal& terminal) {
  const std::string path = text::shell_word(opened.dump.path);
  std::vector<std::pair<std::string, const char*>> commands;
  auto add = [&](const std::string& command, const char* why) { commands.emplace_back(text::clean(command), why); };
  uint32_t example = groups.empty() ? analyzer::kNone : groups.front().example;
  if (example != analyzer::kNone) {
    add(fmt::format("tensorscope show {} {}", path, opened.dump.tensors[example].serial), "one tensor in detail");
  }
  if (by == GroupBy::line) add(fmt::format("tensorscope report {} --by site", path), "one row per stack");
  if (opened.dump.references.present && !opened.dump.module_names.empty() && by != GroupBy::module) {
    add(fmt::format("tensorscope report {} --modules", path), "memory per nn.Module");
  }
  if (earlier.empty()) {
    add(fmt::format("tensorscope diff {} LATER", path), "what changed since");
  } else {
    add(fmt::format("tensorscope diff {} {}", text::shell_word(earlier), path), "growth since the previous dump");
  }
  // No table: a command that is cut cannot be typed. It runs on, and the words behind it go.
  size_t wide = 0, longest = 0;
  for (const auto& [command, why] : commands) {
    wide = std::max(wide, command.size());
    longest = std::max(longest, std::string_view(why).size());
  }
  const bool room = terminal.width <= 0 || kHintIndent + wide + 2 + longest <= size_t(terminal.width);
  std::string text;
  for (const auto& [command, why] : commands) {
    const std::string line = fmt::format("{:{}}{}", text.empty() ? "next:" : "", kHintIndent, command);
    text += room ? fmt::format("{:{}}  {}\n", line, kHintIndent + wide, why) : line + "\n";
  }
  return text;
}

// The `count` largest groups, in their present order. A parent is never smaller than one of its children.
void keep_largest(std::vector<Group>& groups, size_t count) {
  if (count >= groups.size()) return;
  std::vector<uint64_t> sizes;
  for (const Group& group : groups) sizes.push_back(group.bytes);
  std::nth_element(sizes.begin(), sizes.begin() + ptrdiff_t(count) - 1, sizes.end(), std::greater<>());
  const uint64_t least = sizes[count - 1];
  size_t room = count;
  for (const Group& group : groups) room -= group.bytes > least;
  std::erase_if(groups, [&](const Group& group) {
    if (group.bytes != least) return group.bytes < least;
    if (room == 0) return true;
    room--;
    return false;
  });
}

// Whether memory grew, and its curve. "" without a history. `always`: also if it is not known whether it grew.
std::string over_the_run(const analyzer::Dump& dump, bool always, const text::Terminal& terminal) {
  const std::string growth = text::growth_sentence(dump);
  if (growth.empty() || (!always && !text::growth_is_known(dump))) return "";
  return text::wrap(text::clean(growth), terminal.width, 2) + "\n" + text::history_curve(dump, terminal);
}

std::string without_peak(const analyzer::Dump& dump) {
  if (dump.moment) return "it is a moment of a recording; tensorscope timeline shows the recording's peak.";
  const auto& devices = dump.totals.devices;
  const bool any = std::any_of(devices.begin(), devices.end(),
                               [](const analyzer::DeviceTotal& device) { return device.peak_bytes != 0; });
  return any ? "it is of an older version of tensorscope." : "nothing was allocated.";
}

int segments(analyzer::OpenedDump& opened, const ReportOptions& options, Invocation& invocation) {
  invocation.out += headline(opened.dump, invocation.terminal) + "\n";
  invocation.out += segment_tables(opened.dump, options.top, invocation.terminal);
  invocation.out += "\n" + coverage_lines(opened.dump, invocation.terminal);
  return finish(invocation, opened);
}

// The table of what was alive at the peak, under its title.
void peak_tables(analyzer::OpenedDump& opened, const analyzer::PeakPlaces& places, size_t top, Invocation& invocation) {
  const text::Terminal& terminal = invocation.terminal;
  invocation.out += terminal.styled(text::Style::bold, "largest allocation sites at the peak") + "\n";
  invocation.out += text::peak_table(opened, places, top, terminal);
  invocation.out += text::peak_categories_line(places, terminal);
}

int peak(analyzer::OpenedDump& opened, const ReportOptions& options, Invocation& invocation) {
  const analyzer::Dump& dump = opened.dump;
  const text::Terminal& terminal = invocation.terminal;
  std::string& out = invocation.out;
  if (!dump.peak.present) {
    invocation.say("this dump does not have what was alive at the peak: " + without_peak(dump));
    return kBadInput;
  }
  const analyzer::PeakPlaces places = analyzer::peak_places(opened);
  const std::string answer = text::clean(text::peak_answer(dump, places));
  out += terminal.styled(text::Style::bold, text::wrap(answer, terminal.width, 2)) + "\n";
  out += text::peak_moment(dump, terminal) + over_the_run(dump, true, terminal);
  out += headline(dump, terminal) + "\n";
  peak_tables(opened, places, options.top, invocation);
  out += "\n" + coverage_lines(dump, terminal);
  return finish(invocation, opened);
}

// The dump of the same process before this one, if it is still beside it: "train.4242.1.tscope" for number 2.
std::string dump_before(const analyzer::Dump& dump) {
  const std::string ending = fmt::format(".{}.tscope", dump.process.dump_number);
  if (dump.process.dump_number < 2 || !dump.path.ends_with(ending)) return "";
  const std::string path =
      dump.path.substr(0, dump.path.size() - ending.size()) + fmt::format(".{}.tscope", dump.process.dump_number - 1);
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) ? path : "";
}

// "+2.0 MiB since train.4242.1.tscope (1m00s earlier); largest growth: train.py:57 train_step, +2.0 MiB"
std::string growth_line(analyzer::OpenedDump& opened, const analyzer::Selection& selection, const std::string& path,
                        const ReportOptions& options, const text::Terminal& terminal) {
  std::error_code error;
  if (path.empty() || std::filesystem::file_size(path, error) > kLargestOpenedToo || error) return "";
  try {
    analyzer::OpenedDump earlier(path, options.symbols);
    if (!analyzer::same_run(earlier.dump, opened.dump) || !earlier.dump.complete || !opened.dump.complete) return "";
    const analyzer::Selection before = earlier.choose(options.filter);
    const analyzer::Difference difference =
        analyzer::difference({earlier.view(before), opened.view(selection)}, analyzer::GroupBy::line);
    std::string text = fmt::format("{} since {} ({} earlier)",
                                   text::signed_bytes(int64_t(difference.bytes.back() - difference.bytes.front())),
                                   path, text::duration(opened.dump.process.dump_ns - earlier.dump.process.dump_ns));
    if (!difference.changes.empty() && difference.changes.front().byte_growth() > 0) {
      const analyzer::Change& most = difference.changes.front();
      text += fmt::format("; largest growth: {}, {}", most.label, text::signed_bytes(most.byte_growth()));
    }
    return text::wrap(text::clean(text), terminal.width, 2) + "\n";
  } catch (const analyzer::BadInput&) {
    return "";  // `tensorscope diff` reports what is wrong with that file
  }
}

// Everything between the answer and what was seen. `freed`: what was alive at the peak, if hardly anything is now.
void tables(analyzer::OpenedDump& opened, const analyzer::Selection& selection, std::vector<Group> groups,
            uint64_t total, const ReportOptions& options, const std::string& earlier, const analyzer::PeakPlaces* freed,
            Invocation& invocation) {
  const text::Terminal& terminal = invocation.terminal;
  std::string& out = invocation.out;
  out += live_table(opened, terminal) + "\n";
  out += driver_table(opened, terminal);
  if (freed) {
    peak_tables(opened, *freed, options.top, invocation);
    return;
  }
  if (options.launches) {
    out += launch_table(opened, options.top, terminal);
    return;
  }
  if (options.modules) {
    out += terminal.styled(text::Style::bold, "live bytes by module") + "  (a module's line includes those in it)\n";
    out += module_table(opened, selection, options.full, terminal);
    return;
  }
  const bool tree = options.by == GroupBy::module && options.sort == GroupSort::bytes;
  if (tree) groups = analyzer::module_tree(std::move(groups));
  size_t shown = options.top == 0 ? groups.size() : std::min(options.top, groups.size());
  std::string title = by_place(options.by) ? "largest allocation sites"
                                           : fmt::format("live bytes by {}", analyzer::kByNames[size_t(options.by)]);
  if (by_place(options.by) && options.sort != GroupSort::bytes) title = "allocation sites";
  out += terminal.styled(text::Style::bold, title);
  if (groups.empty()) {
    const std::string why = text::no_match_phrase(opened.why_nothing(selection, options.filter));
    out += text::wrap(": " + text::clean(why), terminal.width, 2) + "\n";
    return;
  }
  const size_t all = groups.size();
  if (tree) {
    keep_largest(groups, shown);
  } else {
    groups.resize(shown);
  }
  if (shown < all) {
    uint64_t rest = total;
    for (const Group& group : groups) rest -= tree ? 0 : group.bytes;
    const std::string others = tree ? "" : fmt::format(", the rest {}", text::bytes(rest));
    out += fmt::format("  (showing {} of {}{}; --top N)", text::count(shown), text::count(all), others);
  }
  out += "\n";
  out += group_table(opened, groups, options.by, total, options.full_stacks, terminal);
  out += "\n" + hints(opened, groups, options.by, earlier, terminal);
  if (options.full_stacks) {
    for (const std::string& note : opened.symbols.source_notes()) invocation.say(note);
  }
}

int report(const ReportOptions& options, Invocation& invocation) {
  analyzer::OpenedDump opened(options.dump, options.symbols);
  const text::Terminal& terminal = invocation.terminal;
  if (options.segments) return segments(opened, options, invocation);
  if (options.peak) return peak(opened, options, invocation);
  analyzer::Selection selection = opened.select(options.filter);
  std::vector<Group> groups = analyzer::group(opened.view(selection), options.by);
  sort_groups(groups, options.sort);
  uint64_t total = 0;
  for (const Group& group : groups) total += group.bytes;

  std::string& out = invocation.out;
  const std::string earlier = dump_before(opened.dump);
  std::optional<analyzer::PeakPlaces> freed;
  const bool plain = options.by == GroupBy::line && !options.modules && !options.launches && options.filter.empty();
  if (plain && text::nearly_all_freed(opened)) freed = analyzer::peak_places(opened);
  const std::string answer = text::answer_line(opened, selection, groups, options.by, total, !options.filter.empty());
  out += terminal.styled(text::Style::bold, text::wrap(text::clean(answer), terminal.width, 2)) + "\n";
  out += growth_line(opened, selection, earlier, options, terminal) +
         over_the_run(opened.dump, freed.has_value(), terminal);
  out += headline(opened.dump, terminal);
  out += text::moment_names_line(opened, terminal) + "\n";
  tables(opened, selection, std::move(groups), total, options, earlier, freed ? &*freed : nullptr, invocation);
  const std::string outside = text::outside_line(opened.view(selection));
  out += "\n" + (outside.empty() ? "" : text::wrap(outside, terminal.width, 2) + "\n\n");
  out += coverage_lines(opened.dump, terminal);
  return finish(invocation, opened);
}

}  // namespace

void add_report(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "report", "live memory and where it was allocated", report);
  verb->add_option("DUMP", options->dump, "the dump file")->required()->type_name("");
  add_grouping(*verb, options->by);
  add_choice(
      *verb, "--sort", options->sort,
      {{"bytes", GroupSort::bytes}, {"count", GroupSort::count}, {"age", GroupSort::age}, {"name", GroupSort::name}},
      "bytes (default), count, age (oldest first) or name")
      ->type_name("KEY");
  verb->add_flag("--modules", options->modules,
                 "memory per nn.Module, as a tree: parameters, gradients, optimizer state, saved activations");
  verb->add_flag("--full", options->full, "with --modules: one line per layer, repeated layers not merged");
  verb->add_flag("--segments", options->segments,
                 "segments of torch's caching allocator per device: streams, pools, fragmentation");
  verb->add_flag("--peak", options->peak, "what was alive at the highest peak so far, also if it is freed by now");
  verb->add_flag("--launches", options->launches,
                 "kernels and copies by call site (recorded with TENSORSCOPE_CUPTI=activity)");
  add_top(*verb, options->top);
  add_full_stacks(*verb, options->full_stacks);
  add_filters(*verb, options->filter);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope report train.4242.1.tscope\n"
      "  tensorscope report train.4242.1.tscope --by category\n"
      "  tensorscope report train.4242.1.tscope --modules\n"
      "  tensorscope report train.4242.1.tscope --segments\n"
      "  tensorscope report train.4242.exit.tscope --peak\n"
      "  tensorscope report train.4242.1.tscope --by holder --category saved-activation\n"
      "  tensorscope report train.4242.1.tscope --min-size 1M --min-age 5m --full-stacks\n"
      "  tensorscope report train.4242.1.tscope --module 'model.layers.*' --top 0\n"
      "\n"
      "A storage's bytes are counted once, at its allocation site; views and aliases count as tensors with 0 bytes.\n"
      "'count' is the number of live tensors made there, 'age' the age of the oldest.");
}

}  // namespace tensorscope::cli
