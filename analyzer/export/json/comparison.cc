// SPDX-License-Identifier: Apache-2.0
#include "export/json/comparison.h"

#include <cmath>

#include "dump/type_names.h"
#include "export/json/scalars.h"
#include "text/values/comparison.h"
#include "text/values/phrases.h"

namespace tensorscope::exports {

namespace {

using values::OneSided;
using values::Pair;
using values::RunComparison;
using values::UnmatchedNames;
using values::Verdict;

constexpr int kCompareSchema = 1;

Json finite_or_null(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

Json mode_json(format::StepMode mode) { return text_or_null(text::mode_name(mode)); }

Json run_json(const values::ValuesFile& file) {
  const analyzer::Process& process = file.process();
  return {{"file", file.path()},
          {"program", process.program},
          {"pid", process.pid},
          {"host", process.host},
          {"run_id", process.run_id},
          {"rank", natural_or_null(process.rank)},
          {"torch", text_or_null(process.torch_version)},
          {"values", file.value_count()},
          {"calls", file.call_count()}};
}

const char* verdict_word(Verdict verdict) {
  return verdict == Verdict::equal ? "equal" : verdict == Verdict::different ? "different" : "not comparable";
}

Json pair_json(const RunComparison& runs, size_t index) {
  const Pair& pair = runs.pairs[index];
  return {{"name", runs.names[pair.name]},
          {"place", text::place_name(pair.place)},
          {"mode", mode_json(pair.mode)},
          {"step", pair.step},
          {"pass", pair.pass},
          {"verdict", verdict_word(pair.verdict)},
          {"by", text::basis_name(pair.basis)},
          {"absolute", finite_or_null(pair.absolute)},
          {"relative", finite_or_null(pair.relative)},
          {"times_tolerance", finite_or_null(pair.excess)},
          {"value_a", pair.a},
          {"value_b", pair.b}};
}

Json side_json(const values::Value& value) {
  Json statistics = nullptr;
  if (value.statistics) {
    const values::Statistics& s = *value.statistics;
    statistics = {{"count", s.count},
                  {"nan", s.nan},
                  {"positive_infinity", s.positive_infinity},
                  {"negative_infinity", s.negative_infinity},
                  {"minimum", finite_or_null(s.minimum)},
                  {"maximum", finite_or_null(s.maximum)},
                  {"mean", finite_or_null(s.mean)},
                  {"deviation", finite_or_null(s.deviation)},
                  {"l2", finite_or_null(s.l2)}};
  }
  return {{"dtype", value.dtype < 0 ? Json(nullptr) : Json(analyzer::dtype_name(value.dtype))},
          {"shape", value.shape},
          {"site", text_or_null(value.site)},
          {"statistics", std::move(statistics)}};
}

Json call_json(const values::Call& call) {
  return {{"id", call.id},
          {"module", call.module},
          {"class", text_or_null(call.class_name)},
          {"site", text_or_null(call.site)},
          {"mode", mode_json(call.mode)},
          {"step", call.step},
          {"pass", call.pass}};
}

Json first_json(const RunComparison& runs) {
  if (!runs.first) return nullptr;
  const values::FirstDifference& first = *runs.first;
  Json answer = pair_json(runs, first.pair);
  answer["module"] = text_or_null(first.a.module);
  answer["index"] = first.a.index;
  answer["elements"] = first.comparison.count;
  answer["beyond"] = first.comparison.beyond;
  answer["where"] = first.comparison.where.empty() ? Json(nullptr) : Json(first.comparison.where);
  answer["statistic"] = text_or_null(text::statistic_name(first.comparison.statistic));
  answer["at_a"] = finite_or_null(first.comparison.a);
  answer["at_b"] = finite_or_null(first.comparison.b);
  answer["a"] = side_json(first.a);
  answer["b"] = side_json(first.b);
  answer["call"] = first.call ? call_json(*first.call) : Json(nullptr);
  answer["inputs"] = Json::array();
  for (size_t input : first.inputs) answer["inputs"].push_back(pair_json(runs, input));
  answer["before"] = Json::array();
  for (size_t before : first.before) answer["before"].push_back(pair_json(runs, before));
  return answer;
}

Json one_sided_json(const std::vector<OneSided>& names, const char* what) {
  Json list = Json::array();
  for (const OneSided& name : names) list.push_back({{"name", name.name}, {what, name.values}});
  return list;
}

Json only_json(const UnmatchedNames& only) {
  Json steps = Json::array();
  for (const values::OneSidedStep& step : only.steps) {
    steps.push_back(
        {{"mode", mode_json(step.mode)}, {"first", step.first}, {"last", step.last}, {"values", step.values}});
  }
  return {{"names", one_sided_json(only.names, "values")},
          {"steps", std::move(steps)},
          {"values", only.values},
          {"first_value", text_or_null(only.first_value)},
          {"modules", one_sided_json(only.modules, "calls")}};
}

Json raised_json(const RunComparison& runs) {
  if (!runs.raised) return nullptr;
  Json answer = call_json(runs.raised->call);
  answer["in"] = runs.raised->in_a ? "a" : "b";
  return answer;
}

}  // namespace

std::string compare_json(const RunComparison& runs, const values::ValuesFile& a, const values::ValuesFile& b) {
  Json steps = Json::array(), tolerances = Json::array(), dtypes = Json::array(), classes = Json::array();
  for (const values::StepDifference& step : runs.steps) {
    steps.push_back({{"mode", mode_json(step.mode)},
                     {"step", step.step},
                     {"compared", step.compared},
                     {"different", step.different},
                     {"relative", finite_or_null(step.relative)},
                     {"name", step.relative == 0 ? Json(nullptr) : Json(runs.names[step.name])}});
  }
  for (const auto& [dtype, tolerance] : runs.tolerances) {
    tolerances.push_back(
        {{"dtype", analyzer::dtype_name(dtype)}, {"relative", tolerance.relative}, {"absolute", tolerance.absolute}});
  }
  for (const values::ChangedDtype& changed : runs.dtypes) {
    dtypes.push_back(
        {{"a", analyzer::dtype_name(changed.a)}, {"b", analyzer::dtype_name(changed.b)}, {"names", changed.names}});
  }
  for (const values::ChangedClass& changed : runs.classes) {
    classes.push_back({{"module", changed.module}, {"a", changed.a}, {"b", changed.b}});
  }
  const Json about = {{"schema", kCompareSchema},
                      {"a", run_json(a)},
                      {"b", run_json(b)},
                      {"equal", runs.equal()},
                      {"summary", text::compare_headline(runs)},
                      {"compared", runs.compared},
                      {"different", runs.different},
                      {"not_comparable", runs.not_comparable},
                      {"names", runs.names_compared},
                      {"by_elements", runs.by_elements},
                      {"by_hash", runs.by_hash},
                      {"by_statistics", runs.by_statistics},
                      {"calls_compared", runs.calls_compared},
                      {"tolerances", std::move(tolerances)},
                      {"dtypes", std::move(dtypes)},
                      {"classes", std::move(classes)},
                      {"first", first_json(runs)},
                      {"raised", raised_json(runs)},
                      {"steps", std::move(steps)},
                      {"only_a", only_json(runs.only_a)},
                      {"only_b", only_json(runs.only_b)}};
  std::string text = begun_object(about);
  text += ",\n\"differences\":[";
  bool any = false;
  for (size_t i = 0; i < runs.pairs.size(); ++i) {
    if (runs.pairs[i].verdict != Verdict::different) continue;
    text += (any ? ",\n" : "\n") + text_of(pair_json(runs, i));
    any = true;
  }
  return text + "]}\n";
}

}  // namespace tensorscope::exports
