// SPDX-License-Identifier: Apache-2.0
// diff: what changed between dumps.
#include <fmt/format.h>

#include "cli/dump_options.h"
#include "cli/verb.h"
#include "text/dump/change_list.h"
#include "text/dump/change_table.h"
#include "text/dump/group_table.h"
#include "text/dump/headline.h"
#include "text/filter_words.h"
#include "text/text.h"
#include "text/units.h"

namespace tensorscope::cli {

namespace {

using analyzer::Amount;
using analyzer::Difference;
using text::bytes;
using text::count;

struct DiffOptions {
  std::vector<std::string> dumps;
  analyzer::GroupBy by = analyzer::GroupBy::line;
  size_t top = 10;
  bool full_stacks = false;
  bool list = false;
  analyzer::Filter filter;
  analyzer::SymbolOptions symbols;
};

std::string relation(analyzer::ComparedDumps& dumps, bool same_run) {
  const analyzer::Process &from = dumps.first().dump.process, &to = dumps.last().dump.process;
  if (same_run) return fmt::format("same run, {} later", text::duration(to.dump_ns - from.dump_ns));
  std::string text = "different runs, compared by stack, shape and dtype";
  if (from.torch_version != to.torch_version) {
    auto name = [](const std::string& version) { return version.empty() ? "of unknown version" : version; };
    text += fmt::format(" (torch {} and {})", name(from.torch_version), name(to.torch_version));
  }
  return text;
}

std::string amount_text(const char* what, const Amount& amount) {
  if (amount.tensors == 0 && amount.bytes == 0) return fmt::format("{} 0", what);
  return fmt::format("{} {}, {}", what, text::counted(amount.tensors, "tensor"), bytes(amount.bytes));
}

// "(+2.0 MiB a minute)"; empty where the time between the dumps says nothing.
std::string rate_text(analyzer::ComparedDumps& dumps, const Difference& difference, int64_t growth) {
  uint64_t from = dumps.first().dump.process.dump_ns, to = dumps.last().dump.process.dump_ns;
  if (!difference.same_run || to < from + 1'000'000'000 || growth == 0) return "";
  double minutes = double(to - from) / 60e9;
  return fmt::format("   ({} a minute)", text::signed_bytes(int64_t(double(growth) / minutes)));
}

std::string movement_text(const Difference& difference) {
  const analyzer::Movement& movement = difference.movement;
  std::string text = amount_text("new", movement.fresh) + "; " + amount_text("gone", movement.gone);
  if (!difference.same_run) return text;
  auto any = [](const Amount& amount) { return amount.tensors > 0 || amount.bytes > 0; };
  text += "; " + amount_text("grown", movement.grown);
  if (any(movement.shrunk)) text += "; " + amount_text("shrunk", movement.shrunk);
  text += "; " + amount_text("moved", movement.moved);
  if (any(movement.joined)) text += "; " + amount_text("newly matching the filters:", movement.joined);
  if (any(movement.left)) text += "; " + amount_text("no longer matching the filters:", movement.left);
  return text;
}

// Where no row changed: tensors may have been replaced by others of the same kind.
std::string nothing_changed(const Difference& difference, analyzer::GroupBy by) {
  const Amount &fresh = difference.movement.fresh, &gone = difference.movement.gone;
  const std::string what = by_place(by) ? "allocation site" : analyzer::kByNames[size_t(by)];
  if (fresh.tensors == 0 && gone.tensors == 0) return fmt::format("no {} grew or shrank\n", what);
  return fmt::format("no {} grew or shrank: new tensors replaced freed ones\n", what);
}

std::string arrows(const std::vector<uint64_t>& values, std::string (*words)(uint64_t)) {
  std::string text;
  for (uint64_t value : values) text += (text.empty() ? "" : " -> ") + words(value);
  return text;
}

int diff(const DiffOptions& options, Invocation& invocation) {
  if (options.dumps.size() < 2) {
    invocation.say("diff needs at least two dumps: tensorscope diff EARLIER LATER");
    return kBadInput;
  }
  analyzer::ComparedDumps dumps(options.dumps, options.filter, options.symbols);
  report_new_order(invocation, dumps);
  if (options.list && !dumps.same_run()) {
    invocation.say("--list needs dumps of one run: tensor ids differ between runs.");
    return kBadInput;
  }
  if (options.by == analyzer::GroupBy::holder || options.by == analyzer::GroupBy::category)
    report_without_names(invocation, dumps);
  const text::Terminal& terminal = invocation.terminal;
  Difference difference = analyzer::difference(dumps.views(), options.by);

  std::string names;
  for (size_t i = 0; i < dumps.size(); ++i) names += (i == 0 ? "" : " -> ") + dumps[i].dump.path;
  std::string title = text::clean(names + ": " + relation(dumps, difference.same_run));
  std::string& out = invocation.out;
  out += terminal.styled(text::Style::bold, text::wrap(title, terminal.width, 2)) + "\n";
  int64_t growth = int64_t(difference.bytes.back() - difference.bytes.front());
  const char* what = options.filter.empty() ? "live bytes" : "selected bytes";
  out += text::wrap(fmt::format("{} {}   {}{}", what, arrows(difference.bytes, bytes), text::signed_bytes(growth),
                                rate_text(dumps, difference, growth)),
                    terminal.width, 2) +
         "\n";
  out += text::wrap(fmt::format("tensors {}", arrows(difference.tensors, count)), terminal.width, 2) + "\n";
  out += "  " + text::wrap(movement_text(difference), terminal.width, 4) + "\n\n";

  if (const auto why = dumps.why_nothing(options.filter)) {
    out += text::wrap(text::clean(text::no_match_phrase(*why)), terminal.width, 2) + "\n";
    return finish(invocation, dumps, kOk);
  }
  if (options.list) {
    out += change_list(dumps, difference, options.top, terminal);
    return finish(invocation, dumps, kOk);
  }
  if (difference.changes.empty()) {
    out += nothing_changed(difference, options.by);
    return finish(invocation, dumps, kOk);
  }
  if (options.top != 0 && difference.changes.size() > options.top) {
    int64_t rest = 0;
    for (size_t i = options.top; i < difference.changes.size(); ++i) rest += difference.changes[i].byte_growth();
    out += fmt::format("showing {} of {}, the rest {}; --top N\n", options.top,
                       text::counted(difference.changes.size(), "change"), text::signed_bytes(rest));
  }
  out += change_table(dumps, difference.changes, options.by, options.top, options.full_stacks, terminal);
  return finish(invocation, dumps, kOk);
}

}  // namespace

void add_diff(CLI::App& app, Invocation& invocation) {
  auto [verb, options] = add_verb(app, invocation, "diff", "what changed between dumps", diff);
  verb->add_option("DUMP", options->dumps, "two or more dump files")->required()->type_name("");
  add_grouping(*verb, options->by);
  add_top(*verb, options->top);
  verb->add_flag("--list", options->list,
                 "one row per changed tensor: new, gone, grown, shrunk, moved, or with a new .grad");
  add_full_stacks(*verb, options->full_stacks);
  add_filters(*verb, options->filter);
  add_symbol_options(*verb, options->symbols);
  verb->footer(
      "Examples:\n"
      "  tensorscope diff train.4242.1.tscope train.4242.2.tscope\n"
      "  tensorscope diff train.4242.*.tscope --min-size 64K\n"
      "  tensorscope diff train.4242.1.tscope train.4242.2.tscope --list --top 0\n"
      "  tensorscope diff train.4242.exit.tscope train.5713.exit.tscope --by module\n"
      "\n"
      "Dumps of one run are compared tensor by tensor; dumps of different runs by stack, shape and dtype.\n"
      "With three or more dumps, 'steady' marks growth by a similar amount in every interval; it is listed first.");
}

}  // namespace tensorscope::cli
