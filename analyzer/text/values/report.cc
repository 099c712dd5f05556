// SPDX-License-Identifier: Apache-2.0
#include "text/values/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dump/type_names.h"
#include "text/choice_words.h"
#include "text/dump/headline.h"
#include "text/table.h"
#include "text/text.h"
#include "text/units.h"
#include "text/values/elements.h"
#include "text/values/phrases.h"

namespace tensorscope::text {

namespace {

using values::NameRow;
using values::NonFinite;
using values::Statistics;
using values::Value;
using values::ValuesFile;

constexpr int kSparkWidth = 20;
constexpr size_t kMaxStack = 6;

std::string line(const std::string& text, const Terminal& terminal, int indent = 2) {
  return wrap(clean(text), terminal.width, indent) + "\n";
}

std::string type_name(format::ValueKind kind, int dtype) {
  return kind == format::ValueKind::tensor ? analyzer::dtype_name(dtype) : kind_name(kind);
}

std::string statistic(const std::optional<Statistics>& statistics, values::Stat stat) {
  if (!statistics) return "";
  const auto number = values::number_of(*statistics, stat);
  if (!number) return "";
  const bool share = stat == values::Stat::nan || stat == values::Stat::zeros;
  return share ? fmt::format("{:.3g} %", 100 * *number) : short_number(*number);
}

std::string share_of(uint64_t part, uint64_t whole) { return part == 0 ? "" : percent(part, whole); }

std::string place_text(const std::string& operation, const std::string& module, const std::string& site) {
  std::string out = operation;
  if (!module.empty()) out += (out.empty() ? "in " : " in ") + module;
  if (!site.empty()) out += (out.empty() ? "at " : " at ") + site;
  return out;
}

std::string range_text(const Statistics& statistics) {
  if (statistics.finite() == 0) return "no finite element";
  std::string out = short_number(statistics.minimum) + " to " + short_number(statistics.maximum);
  const std::string bad = bad_elements(statistics);
  return out + (bad.empty() ? "" : ", " + bad);
}

std::string finding_text(const NonFinite& finding, const std::string& label, const Terminal& terminal) {
  std::string headline = finding.headline;
  if (headline.empty()) {
    headline = fmt::format("first NaN or infinity: {} made by {}, step {} {}{}",
                           finding.statistics ? bad_elements(*finding.statistics) : "elements",
                           place_text(finding.operation, finding.module, finding.site), count(finding.step),
                           mode_name(finding.mode), finding.backward ? ", backward" : "");
  }
  std::string out = terminal.styled(Style::bad, line((label.empty() ? "" : label + ": ") + headline, terminal));
  if (!finding.shape.empty() || finding.dtype >= 0) {
    out += line("  output: " + analyzer::dtype_name(finding.dtype) + " " + shape_text(finding.shape) +
                    (finding.statistics ? ", " + range_text(*finding.statistics) : ""),
                terminal, 4);
  }
  for (const values::FoundInput& input : finding.inputs) {
    out += line("  " + input.text + (input.statistics ? ": " + range_text(*input.statistics) : ""), terminal, 4);
  }
  for (size_t i = 0; i < finding.stack.size() && i < kMaxStack; ++i) {
    out += line((i == 0 ? "  at " : "  called by ") + finding.stack[i], terminal, 4);
  }
  return out;
}

std::string state_text(const ValuesFile& file) {
  if (file.closed()) return "";
  std::string out = "; without an end: the program still runs or was killed";
  if (file.torn_bytes() != 0) out += ", and " + counted(file.torn_bytes(), "byte") + " of a chunk that is not whole";
  return out;
}

std::string heading(const ValuesFiles& files, const std::vector<std::string>& labels, const Terminal& terminal) {
  std::string out;
  for (size_t i = 0; i < files.size(); ++i) {
    const ValuesFile& file = *files[i];
    const analyzer::Process& process = file.process();
    const std::string rank = process.rank < 0 ? "" : fmt::format(" (rank {} of {})", process.rank, process.world_size);
    std::string text = fmt::format("{}, pid {} on {}{}, torch {}: {}", text::program_name(process), process.pid,
                                   process.host, rank, process.torch_version, counted(file.value_count(), "value"));
    if (file.call_count() != 0) text += ", " + counted(file.call_count(), "module call");
    out += line(text + state_text(file), terminal);
  }
  return out;
}

std::string not_recorded(const ValuesFiles& files, const std::vector<std::string>& labels, const Terminal& terminal) {
  std::string out;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string whose = labels[i].empty() ? "" : labels[i] + ": ";
    for (const values::Loss& loss : files[i]->losses()) {
      out += line(whose + loss.what + ": " + count(loss.count) + (loss.detail.empty() ? "" : " (" + loss.detail + ")"),
                  terminal);
    }
    for (const values::Unmatched& row : files[i]->unmatched()) {
      const values::Watch& watch = files[i]->watches()[row.watch];
      out += line(fmt::format("{}watch {} ({}) matched nothing{}", whose, watch.text, watch.origin,
                              text::did_you_mean(row.nearest)),
                  terminal);
    }
  }
  return out.empty() ? out : "\nnot recorded:\n" + out;
}

bool several_modes(const std::vector<NameRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const NameRow& row) { return row.mode != format::StepMode::train; });
}

}  // namespace

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + "]";
}

std::string short_number(double number) { return fmt::format("{:.4g}", number); }

std::string bad_elements(const Statistics& statistics) {
  std::string out;
  if (statistics.nan != 0) out = count(statistics.nan) + " NaN";
  if (statistics.infinite() != 0) out += (out.empty() ? "" : ", ") + count(statistics.infinite()) + " inf";
  return out.empty() ? out : out + " of " + count(statistics.count);
}

std::string sparkline(const std::vector<double>& points, int width) {
  static constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (points.size() < 2 || width < 1) return "";
  const size_t bars = std::min<size_t>(points.size(), size_t(width));
  std::vector<double> means(bars);
  for (size_t bar = 0; bar < bars; ++bar) {
    const size_t begin = bar * points.size() / bars, end = (bar + 1) * points.size() / bars;
    for (size_t i = begin; i < end; ++i) means[bar] += points[i] / double(end - begin);
  }
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  const double low = *least, range = *most - *least;
  std::string out;
  for (const double mean : means) {
    const double height = range > 0 && std::isfinite(range) ? (mean - low) / range : 0;
    out += kBars[std::min<size_t>(7, size_t(height * 8))];
  }
  return out;
}

std::string values_listing(const ValuesFiles& files, const std::vector<NameRow>& rows, values::Stat stat, size_t top,
                           const Terminal& terminal) {
  const std::vector<std::string> labels = values::file_labels(files);
  const auto label_phrase = [&](size_t file) {
    const bool number = !labels[file].empty() && isdigit(static_cast<unsigned char>(labels[file][0]));
    return number ? "rank " + labels[file] : labels[file];
  };
  std::string out;
  for (size_t i = 0; i < files.size(); ++i) {
    for (const NonFinite& finding : files[i]->findings()) out += finding_text(finding, label_phrase(i), terminal);
  }
  out += heading(files, labels, terminal);
  if (rows.empty()) {
    out += "  no values\n";
  } else {
    const std::string title = std::string(values::word_of(stat)) + " over steps";
    Table table({{"name", Align::left, 16, Cut::middle, 0, Style::plain, 24},
                 {"operation", Align::left, 0, Cut::end, 0, Style::plain, 0, 3},
                 {"rank", Align::right},
                 {"mode"},
                 {"values", Align::right},
                 {"steps", Align::right, 0, Cut::end, 0, Style::plain, 0, 4},
                 {"shape", Align::left, 8},
                 {"dtype"},
                 {"mean", Align::right},
                 {"std", Align::right, 0, Cut::end, 0, Style::plain, 0, 2},
                 {"absmax", Align::right},
                 {"NaN/inf", Align::right},
                 {title, Align::left, 0, Cut::end, 0, Style::plain, 0, 1}});
    const bool modes = several_modes(rows);
    const size_t shown = top == 0 ? rows.size() : std::min(top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
      const NameRow& row = rows[i];
      const std::string steps =
          row.first_step == row.last_step ? count(row.first_step) : count(row.first_step) + "-" + count(row.last_step);
      const bool tensor = row.kind == format::ValueKind::tensor && !row.kind_varies;
      table.row({std::string(row.name), std::string(row.operation), labels[row.file], modes ? mode_name(row.mode) : "",
                 count(row.values), steps,
                 row.shape_varies ? "varies"
                 : tensor         ? shape_text(row.shape)
                                  : "",
                 row.dtype_varies || row.kind_varies ? "varies" : type_name(row.kind, row.dtype),
                 statistic(row.last, values::Stat::mean), statistic(row.last, values::Stat::std),
                 statistic(row.last, values::Stat::absmax), share_of(row.not_finite, row.elements),
                 sparkline(row.curve.points(), kSparkWidth)},
                row.not_finite != 0 ? Style::bad : Style::plain);
    }
    out += "\n" + table.text(terminal);
    if (shown < rows.size()) {
      out += fmt::format("showing {} of {} names; --top N\n", count(shown), count(rows.size()));
    }
    out += line("mean, std and absmax are of the last value; NaN/inf is the share of all elements", terminal);
  }
  std::vector<std::string> whose;
  for (size_t i = 0; i < files.size(); ++i) whose.push_back(label_phrase(i));
  return out + not_recorded(files, whose, terminal);
}

std::string statistics_table(const ValuesFiles& files, const std::vector<StatRow>& rows,
                             const std::vector<values::Stat>& stats, uint64_t left_out, const Terminal& terminal) {
  const std::vector<std::string> labels = values::file_labels(files);
  std::vector<Column> columns = {{"step", Align::right},       {"mode"},
                                 {"pass", Align::right},       {"rank", Align::right},
                                 {"index", Align::right},      {"name", Align::left, 24, Cut::middle},
                                 {"operation", Align::left, 8}};
  for (const values::Stat stat : stats) {
    columns.push_back({stat == values::Stat::nan ? "NaN/inf" : values::word_of(stat), Align::right});
  }
  Table table(columns, 0);
  const auto any = [&](auto differs) { return std::any_of(rows.begin(), rows.end(), differs); };
  const bool indexes = any([](const StatRow& row) { return row.value.index != 0; });
  const bool modes = any([](const StatRow& row) { return row.value.mode != format::StepMode::train; });
  const bool passes = any([](const StatRow& row) { return row.value.pass != row.value.step; });
  for (const StatRow& row : rows) {
    const Value& value = row.value;
    std::vector<std::string> cells = {std::to_string(value.step),
                                      modes ? mode_name(value.mode) : "",
                                      passes ? std::to_string(value.pass) : "",
                                      labels[row.file],
                                      indexes ? std::to_string(value.index) : "",
                                      std::string(value.name),
                                      std::string(value.operation)};
    for (const values::Stat stat : stats) cells.push_back(statistic(row.statistics, stat));
    const bool bad = row.statistics && row.statistics->finite() != row.statistics->count;
    table.row(std::move(cells), bad ? Style::bad : Style::plain);
  }
  std::string out = table.text(terminal);
  if (left_out != 0) {
    out += fmt::format("showing {} of {} values; --top N\n", count(rows.size()), count(rows.size() + left_out));
  }
  return out;
}

std::string followed_line(const ValuesFiles& files, const StatRow& row, const std::vector<values::Stat>& stats) {
  const Value& value = row.value;
  std::string out = fmt::format("step {:<6} {:<5}", value.step, mode_name(value.mode));
  if (const std::string label = values::file_labels(files)[row.file]; !label.empty()) out += "  " + label;
  out += "  " + std::string(value.name);
  if (!value.operation.empty()) out += " " + std::string(value.operation);
  if (value.index != 0) out += fmt::format(" #{}", value.index);
  if (value.is_tensor()) out += "  " + shape_text(value.shape);
  for (const values::Stat stat : stats) {
    const std::string number = statistic(row.statistics, stat);
    if (!number.empty()) out += fmt::format("  {} {}", values::word_of(stat), number);
  }
  if (row.statistics && row.statistics->finite() != row.statistics->count) out += "  " + bad_elements(*row.statistics);
  return clean(out) + "\n";
}

std::string value_text(const ValuesFiles& files, size_t file, const Value& value, uint64_t others,
                       const Terminal& terminal) {
  const ValuesFile& from = *files[file];
  const std::string label = values::file_labels(files)[file];
  std::string about = std::string(value.name) + ", step " + count(value.step);
  if (*mode_name(value.mode) != 0) about += std::string(" ") + mode_name(value.mode);
  about += ", pass " + count(value.pass) + ", index " + count(value.index);
  if (!label.empty()) about += (isdigit(static_cast<unsigned char>(label[0])) ? ", rank " : ", ") + label;
  const uint64_t since = value.time_ns - std::min(value.time_ns, from.process().start_ns);
  about += ", " + duration(since) + " after start";
  std::string out = line(about, terminal);
  const std::string place =
      place_text(std::string(value.operation), std::string(value.module), std::string(value.site));
  if (!place.empty()) out += line(place, terminal);
  if (value.is_tensor()) {
    std::string form = analyzer::dtype_name(value.dtype) + " " + shape_text(value.shape) + " on " + value.device.text();
    if (value.sliced) form += ", of which " + shape_text(value.kept_shape) + " was kept";
    if (value.stored_dtype != value.dtype) form += ", kept as " + analyzer::dtype_name(value.stored_dtype);
    if (value.unchanged()) form += ", unchanged";
    out += line(form, terminal);
  }
  const auto elements = from.elements_of(value);
  std::optional<Statistics> statistics = value.statistics;
  if (!statistics && elements && value.is_tensor()) statistics = values::statistics_of(*elements);
  if (statistics) {
    std::string words;
    for (const values::StatWord& each : values::kStatWords) {
      const std::string number = statistic(statistics, each.stat);
      if (!number.empty()) words += (words.empty() ? "" : ", ") + std::string(each.word) + " " + number;
    }
    const std::string bad = bad_elements(*statistics);
    out += line(words + (bad.empty() ? "" : " (" + bad + ")"), terminal);
  }
  for (const values::Series& series : value.series) {
    std::string numbers;
    for (const double number : series.numbers) numbers += (numbers.empty() ? "" : ", ") + short_number(number);
    out += line(series.what + ": " + numbers, terminal);
  }
  if (!value.note.empty()) out += line(std::string(value.note), terminal);
  switch (value.kind) {
    case format::ValueKind::tensor:
      out += elements ? tensor_text(*elements, value.device) + "\n" : "  its elements were not kept\n";
      break;
    case format::ValueKind::none:
      out += "None\n";
      break;
    case format::ValueKind::boolean:
      out += value.number != 0 ? "True\n" : "False\n";
      break;
    case format::ValueKind::integer:
      out += fmt::format("{}\n", value.integer);
      break;
    case format::ValueKind::real:
      out += fmt::format("{}\n", value.number);
      break;
    case format::ValueKind::complex:
      out += fmt::format("({}{:+}j)\n", value.number, value.imaginary);
      break;
    case format::ValueKind::text:
    case format::ValueKind::other:
      if (elements) out += clean(elements->bytes) + "\n";
      break;
  }
  if (others != 0) out += line(counted(others, "other value") + " fit; see --step, --mode, --index", terminal);
  return out;
}

}  // namespace tensorscope::text
