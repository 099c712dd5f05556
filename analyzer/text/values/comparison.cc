// SPDX-License-Identifier: Apache-2.0
#include "text/values/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dump/type_names.h"
#include "text/table.h"
#include "text/text.h"
#include "text/units.h"
#include "text/values/phrases.h"
#include "text/values/report.h"

namespace tensorscope::text {

namespace {

using values::Basis;
using values::Comparison;
using values::FirstDifference;
using values::OneSided;
using values::Pair;
using values::RunComparison;
using values::Statistic;
using values::Tolerance;
using values::UnmatchedNames;
using values::Value;
using values::Verdict;

constexpr size_t kOneSidedNamed = 5;
const std::string kOneSidedNumber = ", NaN or infinity on one side alone";

std::string number(double value) { return fmt::format("{:.4g}", value); }
std::string difference(double value) { return std::isinf(value) ? "NaN or Inf" : fmt::format("{:.2g}", value); }
std::string times_allowed(double excess) {
  if (std::isinf(excess) || excess >= 1e9) return "";
  return excess < 100 ? fmt::format("{:.3g}", excess) : count(uint64_t(excess));
}
// By shape, kind, text or hash there is no number.
bool has_numbers(const Pair& pair) { return pair.verdict == Verdict::equal || pair.relative > 0; }

std::string dtype_word(int dtype) { return dtype < 0 ? "float of Python" : analyzer::dtype_name(dtype); }

// What differs, in a few words.
std::string what_differs(const FirstDifference& first) {
  const Comparison& compared = first.comparison;
  switch (compared.basis) {
    case Basis::shape:
      return fmt::format("its shape is {} in A and {} in B", shape_text(first.a.shape), shape_text(first.b.shape));
    case Basis::kind:
      return fmt::format("it is {} in A and {} in B", kind_name(first.a.kind), kind_name(first.b.kind));
    case Basis::text:
      return "its text differs";
    case Basis::hash:
      return "its hash differs";
    case Basis::scalar:
      return fmt::format("{} in A and {} in B", number(compared.a), number(compared.b));
    case Basis::elements:
      return fmt::format("{} of {} differ{}", count(compared.beyond), counted(compared.count, "element"),
                         std::isinf(compared.relative)
                             ? kOneSidedNumber
                             : fmt::format(", by {} relative", difference(compared.relative)));
    case Basis::statistics:
      break;
  }
  return fmt::format("its {} differs: {} in A and {} in B", statistic_name(compared.statistic), number(compared.a),
                     number(compared.b));
}

// "module model.layers.3.attn", where that is not what the value is called.
std::string owner_words(const Value& value) {
  if (value.module.empty() || value.module == value.name) return "";
  return fmt::format(" of module {}", clean(value.module));
}

std::string first_words(const RunComparison& runs) {
  const FirstDifference& first = *runs.first;
  const std::string place = place_name(first.a.place);
  return fmt::format("{}: {} ({}{}) is the first value that differs; {}",
                     step_words(first.a.mode, first.a.step, first.a.pass), runs.names[runs.pairs[first.pair].name],
                     place, owner_words(first.a), what_differs(first));
}

std::string raised_words(const values::RaisedAlone& raised) {
  return fmt::format("{}: {} raised in {} alone", step_words(raised.call.mode, raised.call.step, raised.call.pass),
                     clean(raised.call.module), raised.in_a ? "A" : "B");
}

bool raised_first(const RunComparison& runs) {
  return runs.raised && (!runs.first || runs.raised->time_ns < runs.pairs[runs.first->pair].time_ns);
}

std::string plural_steps(const values::OneSidedStep& steps) {
  const bool eval = steps.mode == format::StepMode::eval;
  const std::string mode = mode_name(steps.mode);
  return fmt::format(
      "{}{}{} {}", mode, mode.empty() ? "" : " ",
      eval                        ? (steps.first == steps.last ? "pass" : "passes")
      : steps.first == steps.last ? "step"
                                  : "steps",
      steps.first == steps.last ? std::to_string(steps.first) : fmt::format("{} to {}", steps.first, steps.last));
}

std::string named(const std::vector<OneSided>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kOneSidedNamed); ++i)
    text += (i == 0 ? "" : ", ") + clean(names[i].name);
  if (names.size() > kOneSidedNamed) text += fmt::format(" and {} more", count(names.size() - kOneSidedNamed));
  return text;
}

uint64_t values_of(const std::vector<OneSided>& names) {
  uint64_t values = 0;
  for (const OneSided& name : names) values += name.values;
  return values;
}

class CompareWriter {
 public:
  CompareWriter(const RunComparison& runs, const values::ValuesFile& a, const values::ValuesFile& b,
                const CompareText& how)
      : runs_(runs), a_(a), b_(b), how_(how) {}

  std::string text() {
    out_ += how_.terminal.styled(runs_.equal() ? Style::good : Style::bad,
                                 wrap(compare_headline(runs_), how_.terminal.width, 2)) +
            "\n";
    file("A", a_);
    file("B", b_);
    conditions();
    if (runs_.first) {
      first();
      growth();
    }
    only("A", runs_.only_a);
    only("B", runs_.only_b);
    if (runs_.hint) {
      line(fmt::format("these names agree with --rename {}={}", clean(runs_.hint->from), clean(runs_.hint->to)));
    }
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_ += "  " + wrap(text, how_.terminal.width, 4) + "\n"; }
  void entry(const char* label, const std::string& text) {
    out_ += wrap(fmt::format("  {:<11}  {}", label, text), how_.terminal.width, 15) + "\n";
  }
  void heading(const std::string& text) { out_ += "\n" + how_.terminal.styled(Style::bold, text) + "\n"; }

  void file(const char* side, const values::ValuesFile& file) {
    const analyzer::Process& process = file.process();
    line(fmt::format("{}  {}  {}, pid {} on {}{}{}: {}{}", side, clean(file.path()), clean(process.program),
                     process.pid, clean(process.host), process.rank >= 0 ? fmt::format(", rank {}", process.rank) : "",
                     process.torch_version.empty() ? "" : ", torch " + clean(process.torch_version),
                     counted(file.value_count(), "value"),
                     file.call_count() > 0 ? ", " + counted(file.call_count(), "call") : ""));
  }

  void conditions() {
    for (const auto& [dtype, tolerance] : runs_.tolerances) {
      line(tolerance.exact() ? fmt::format("{}: compared exactly", dtype_word(dtype))
                             : fmt::format("{}: tolerance {:g} relative, {:g} absolute", dtype_word(dtype),
                                           tolerance.relative, tolerance.absolute));
    }
    for (const values::ChangedDtype& changed : runs_.dtypes) {
      line(fmt::format("{}: {} in A, {} in B", counted(changed.names, "name"), dtype_word(changed.a),
                       dtype_word(changed.b)));
    }
    for (const values::Rename& rename : how_.renames) {
      line(fmt::format("{} is compared as {}", clean(rename.from), clean(rename.to)));
    }
    for (const values::ChangedClass& changed : runs_.classes) {
      line(fmt::format("{} is {} in A, {} in B", clean(changed.module), clean(changed.a), clean(changed.b)));
    }
    if (runs_.not_comparable > 0) {
      line(fmt::format("{}: neither elements nor statistics that both runs have",
                       counted(runs_.not_comparable, "value")));
    }
    if (runs_.raised && !raised_first(runs_)) line(raised_words(*runs_.raised));
  }

  void first() {
    const FirstDifference& first = *runs_.first;
    const Pair& pair = runs_.pairs[first.pair];
    const Comparison& compared = first.comparison;
    heading("first difference");
    entry("value", fmt::format("{}, {}{}{}", runs_.names[pair.name], place_name(first.a.place), owner_words(first.a),
                               first.a.index > 0 ? fmt::format(", index {} in its pass", first.a.index) : ""));
    entry("when", fmt::format("{}{}", step_words(first.a.mode, first.a.step, first.a.pass),
                              first.a.mode == format::StepMode::eval ? "" : fmt::format(", pass {}", first.a.pass)));
    if (!first.a.site.empty()) entry("line", clean(first.a.site));
    if (first.call) {
      entry("call", fmt::format("{}{}{}", clean(first.call->module),
                                first.call->class_name.empty() ? "" : " (" + clean(first.call->class_name) + ")",
                                first.call->site.empty() ? "" : ", called at " + clean(first.call->site)));
    }
    entry("A", side_words(first.a));
    entry("B", side_words(first.b));
    entry("difference", numbers(compared));
    if (!compared.where.empty()) {
      entry("largest at",
            fmt::format("{}: {} in A, {} in B", shape_text(compared.where), number(compared.a), number(compared.b)));
    } else if (compared.statistic != Statistic::none) {
      entry("largest in", fmt::format("{}: {} in A, {} in B", statistic_name(compared.statistic), number(compared.a),
                                      number(compared.b)));
    }
    fed_by(first);
  }

  static std::string side_words(const Value& value) {
    std::string text = value.is_tensor() ? fmt::format("{} {}", dtype_word(value.dtype), shape_text(value.shape))
                                         : kind_name(value.kind);
    if (value.is_tensor() && value.device.type >= 0) text += " on " + value.device.text();
    if (value.statistics) {
      const values::Statistics& s = *value.statistics;
      text += fmt::format(", mean {}, deviation {}, from {} to {}", number(s.mean), number(s.deviation),
                          number(s.minimum), number(s.maximum));
      if (s.nan > 0) text += fmt::format(", {} NaN", count(s.nan));
      if (s.infinite() > 0) text += fmt::format(", {} infinite", count(s.infinite()));
    }
    return text;
  }

  static std::string numbers(const Comparison& compared) {
    std::string text = "by " + basis_name(compared.basis);
    if (compared.basis == Basis::elements) {
      text += fmt::format(": {} of {} beyond the tolerance", count(compared.beyond), count(compared.count));
    }
    if (std::isinf(compared.relative)) return text + kOneSidedNumber;
    if (compared.relative > 0) {
      text += fmt::format(", largest {} absolute, {} relative", difference(compared.absolute),
                          difference(compared.relative));
      if (const std::string times = times_allowed(compared.excess); !times.empty()) {
        text += fmt::format(", {} times the tolerance", times);
      }
    }
    return text;
  }

  void fed_by(const FirstDifference& first) {
    for (size_t input : first.inputs) {
      const Pair& pair = runs_.pairs[input];
      entry("fed by", fmt::format("{} {}", runs_.names[pair.name], verdict_words(pair)));
    }
    if (!first.inputs.empty()) return;
    for (size_t before : first.before) {
      const Pair& pair = runs_.pairs[before];
      entry("before it", fmt::format("{} {}", runs_.names[pair.name], verdict_words(pair)));
    }
    if (first.before.empty()) entry("before it", "no value of this pass was compared");
  }

  static std::string verdict_words(const Pair& pair) {
    if (pair.verdict == Verdict::not_comparable) return "could not be compared";
    if (!has_numbers(pair)) return "differs in its " + basis_name(pair.basis);
    if (pair.verdict == Verdict::different) return "differs, by " + difference(pair.relative) + " relative";
    return pair.relative == 0 ? "equal" : "equal within the tolerance (" + difference(pair.relative) + " relative)";
  }

  void growth() {
    const Pair& first = runs_.pairs[runs_.first->pair];
    Table values({{.title = "relative", .align = Align::right},
                  {.title = "absolute", .align = Align::right},
                  {.title = "x tolerance", .align = Align::right},
                  {.title = ""},
                  {.title = "value", .least = 24, .cut = Cut::middle}});
    size_t rows = 0, all = 0;
    for (size_t i = runs_.first->pair; i < runs_.pairs.size(); ++i) {
      const Pair& pair = runs_.pairs[i];
      if (std::tie(pair.mode, pair.step) != std::tie(first.mode, first.step)) continue;
      if (pair.verdict == Verdict::not_comparable) continue;
      ++all;
      if (how_.top != 0 && rows == how_.top) continue;
      ++rows;
      const bool differs = pair.verdict == Verdict::different, numbers = has_numbers(pair);
      values.row({numbers ? difference(pair.relative) : "", numbers ? difference(pair.absolute) : "",
                  numbers ? times_allowed(pair.excess) : "",
                  !differs   ? "equal"
                  : !numbers ? basis_name(pair.basis)
                             : "",
                  runs_.names[pair.name]},
                 differs ? Style::plain : Style::dim);
    }
    heading(fmt::format("how the difference grows in {}", step_words(first.mode, first.step, first.pass)));
    out_ += values.text(how_.terminal);
    rest(rows, all);
    if (runs_.steps.size() > 1) over_steps();
  }

  void over_steps() {
    Table table({{.title = "when"},
                 {.title = "compared", .align = Align::right},
                 {.title = "different", .align = Align::right},
                 {.title = "largest relative", .align = Align::right},
                 {.title = "of", .least = 24, .cut = Cut::middle}});
    heading("how it grows over the steps");
    const size_t rows = how_.top == 0 ? runs_.steps.size() : std::min(how_.top, runs_.steps.size());
    const auto first =
        std::find_if(runs_.steps.begin(), runs_.steps.end(), [](auto& step) { return step.different > 0; });
    const size_t begin = std::min(size_t(first - runs_.steps.begin()) > 0 ? size_t(first - runs_.steps.begin()) - 1 : 0,
                                  runs_.steps.size() - rows);
    for (size_t i = begin; i < begin + rows; ++i) {
      const values::StepDifference& step = runs_.steps[i];
      table.row({step_words(step.mode, step.step, step.pass), count(step.compared), count(step.different),
                 step.relative > 0 || step.different == 0 ? difference(step.relative) : "",
                 step.relative == 0 ? "" : runs_.names[step.name]},
                step.different > 0 ? Style::plain : Style::dim);
    }
    out_ += table.text(how_.terminal);
    rest(rows, runs_.steps.size());
  }

  void rest(size_t shown, size_t all) {
    if (shown < all) line(fmt::format("showing {} of {}; --top N, 0 for all", count(shown), count(all)));
  }

  void only(const char* side, const UnmatchedNames& only) {
    if (only.names.empty() && only.steps.empty() && only.values == 0 && only.modules.empty()) return;
    heading(fmt::format("only in {}", side));
    if (!only.names.empty()) {
      line(fmt::format("{} ({}): {}", counted(only.names.size(), "name"), counted(values_of(only.names), "value"),
                       named(only.names)));
    }
    for (const values::OneSidedStep& steps : only.steps) {
      line(fmt::format("{} ({})", plural_steps(steps), counted(steps.values, "value")));
    }
    if (only.values > 0) {
      line(fmt::format("{} of names and steps that both have; the first: {}", counted(only.values, "value"),
                       clean(only.first_value)));
    }
    if (!only.modules.empty()) {
      line(fmt::format("calls of {} ({}): {}", counted(only.modules.size(), "module"),
                       counted(values_of(only.modules), "call"), named(only.modules)));
    }
  }

  const RunComparison& runs_;
  const values::ValuesFile &a_, &b_;
  const CompareText& how_;
  std::string out_;
};

std::string compared_words(const RunComparison& runs) {
  std::string text = fmt::format("{} of {}", counted(runs.compared, "value"), counted(runs.names_compared, "name"));
  std::string by;
  const auto add = [&by](uint64_t number, const char* what) {
    if (number > 0) by += fmt::format("{}{} by {}", by.empty() ? "" : ", ", count(number), what);
  };
  add(runs.by_elements, "elements");
  add(runs.by_hash, "hash");
  add(runs.by_statistics, "statistics");
  if (!by.empty()) text += " (" + by + ")";
  if (runs.steps.size() > 1) text += fmt::format(" in {} steps", count(runs.steps.size()));
  return text;
}

}  // namespace

std::string basis_name(Basis basis) {
  static constexpr const char* kWords[] = {"elements", "hash", "statistics", "number", "text", "shape", "kind"};
  return kWords[size_t(basis)];
}

std::string statistic_name(Statistic statistic) {
  static constexpr const char* kWords[] = {"",        "number of NaN", "number of +Inf", "number of -Inf", "minimum",
                                           "maximum", "mean",          "deviation",      "l2 norm"};
  return kWords[size_t(statistic)];
}

std::string place_name(format::ValuePlace place) {
  static constexpr const char* kWords[] = {"value",        "output",      "input",           "parameter",
                                           "buffer",       "gradient",    "optimizer state", "local",
                                           "return value", "saved value", "backward"};
  return size_t(place) < std::size(kWords) ? kWords[size_t(place)] : "value";
}

std::string compare_headline(const RunComparison& runs) {
  if (runs.equal()) {
    return runs.compared == 0 ? fmt::format("equal: {}", counted(runs.calls_compared, "call"))
                              : fmt::format("equal: {}", compared_words(runs));
  }
  std::string text = "different: " + (raised_first(runs) ? raised_words(*runs.raised) : first_words(runs));
  if (runs.different > 1) {
    text += fmt::format("; {} of {} differ", count(runs.different), counted(runs.compared, "compared value"));
  }
  return text;
}

std::string compare_text(const RunComparison& runs, const values::ValuesFile& a, const values::ValuesFile& b,
                         const CompareText& how) {
  return CompareWriter(runs, a, b, how).text();
}

std::string nothing_compared(const RunComparison& runs, const values::ValuesFile& a, const values::ValuesFile& b) {
  if (a.value_count() == 0 && a.call_count() == 0) return a.path() + " has no values.";
  if (b.value_count() == 0 && b.call_count() == 0) return b.path() + " has no values.";
  std::string text = "nothing could be compared";
  if (runs.not_comparable > 0) {
    return text + ": of no value do both files have elements of one shape, or statistics.";
  }
  const auto& only_a = runs.only_a.names;
  const auto& only_b = runs.only_b.names;
  if (only_a.empty() || only_b.empty()) return text + ": the runs have no step in common.";
  text += fmt::format(": no name is in both files ({} in A, {} in B)", only_a.front().name, only_b.front().name);
  if (runs.hint) return text + fmt::format("; names agree with --rename {}={}", runs.hint->from, runs.hint->to);
  return text + "; --rename FROM=TO maps one name to another.";
}

}  // namespace tensorscope::text
