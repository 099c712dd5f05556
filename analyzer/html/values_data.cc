// SPDX-License-Identifier: Apache-2.0
#include "html/values_data.h"

#include <map>
#include <tuple>

#include "export/json/calls.h"
#include "export/json/values.h"
#include "text/text.h"
#include "text/values/calls.h"
#include "text/values/phrases.h"
#include "values/name_rows.h"
#include "values/name_series.h"

namespace tensorscope::html {

namespace {

constexpr size_t kMaxNames = 5000;
constexpr size_t kMaxSeries = 4096;  // numbers of a histogram

Json line_data(const values::NameLine& line, Payload& payload) {
  std::vector<double> x, y;
  for (const values::Point& point : line.line.points()) {
    x.push_back(point.x);
    y.push_back(point.y);
  }
  return {
      {"file", line.file}, {"stat", values::word_of(line.stat)}, {"x", payload.column(x)}, {"y", payload.column(y)}};
}

// The longer results of reducers, of the last value of each name that has them.
Json last_series(const ValuesFiles& files, Payload& payload) {
  std::map<std::tuple<size_t, std::string, std::string>, Json> last;
  for (size_t file = 0; file < files.size(); ++file) {
    files[file]->for_each_value([&](const values::Value& value) {
      for (const values::Series& series : value.series) {
        const auto key = std::make_tuple(file, std::string(value.name), series.what);
        if ((last.size() >= kMaxNames && !last.contains(key)) || series.numbers.size() > kMaxSeries) continue;
        last[key] = {{"file", file},
                     {"name", text::clean(value.name)},
                     {"what", text::clean(series.what)},
                     {"step", value.step},
                     {"numbers", series.numbers}};
      }
      return true;
    });
  }
  Json rows = Json::array();
  for (auto& [key, row] : last) {
    row["numbers"] = payload.column(row["numbers"].get<std::vector<double>>());
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

Json values_data(const ValuesFiles& files, bool confidential, Payload& payload) {
  if (files.empty()) return nullptr;
  const std::vector<values::NameRow> rows = values::name_rows(files, {}, values::Stat::mean);
  Json out = Json::parse(exports::values_json(files, rows, kMaxNames));
  for (Json& file : out["files"]) {
    if (confidential) file["host"] = nullptr;
  }
  out["series"] = Json::array();
  const std::vector<values::Stat> stats = {values::Stat::mean, values::Stat::std,    values::Stat::min,
                                           values::Stat::max,  values::Stat::absmax, values::Stat::l2,
                                           values::Stat::nan};
  for (const values::NameSeries& series : values::name_series(files, {}, stats)) {
    if (out["series"].size() >= kMaxNames) break;
    Json lines = Json::array();
    for (const values::NameLine& line : series.lines) lines.push_back(line_data(line, payload));
    out["series"].push_back({{"name", text::clean(series.name)},
                             {"operation", text::clean(series.operation)},
                             {"mode", text::mode_name(series.mode)},
                             {"lines", lines}});
  }
  out["histograms"] = last_series(files, payload);
  return out;
}

Json calls_data(const ValuesFiles& files) {
  Json out = Json::array();
  for (const auto& file : files) {
    std::vector<values::Call> calls;
    file->for_each_call([&](const values::Call& call) {
      calls.push_back(call);
      return true;
    });
    if (calls.empty()) continue;
    const values::CallSequence sequence(std::move(calls));
    const values::CallTree tree = values::call_tree(sequence, {});
    Json answer = Json::parse(
        exports::calls_json(sequence, {.file = file->path(), .tree = &tree, .squashed = nullptr, .sequence = false}));
    std::string head = text::calls_head(sequence, file->path(), {});
    while (head.ends_with('\n')) head.pop_back();
    answer["head"] = text::clean(head);
    out.push_back(std::move(answer));
  }
  if (out.empty()) return nullptr;
  return out;
}

}  // namespace tensorscope::html
