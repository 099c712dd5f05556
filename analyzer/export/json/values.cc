// SPDX-License-Identifier: Apache-2.0
#include "export/json/values.h"

#include <cmath>

#include "dump/type_names.h"
#include "export/json/scalars.h"
#include "text/values/phrases.h"
#include "values/element_type.h"

namespace tensorscope::exports {

namespace {

using values::Statistics;
using values::Value;
using values::ValuesFile;

constexpr int kValuesSchema = 1;

// JSON has no NaN and no infinity.
Json number(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "Infinity" : "-Infinity";
  return x;
}

Json statistics_object(const std::optional<Statistics>& in) {
  if (!in) return nullptr;
  return {{"count", in->count},
          {"nan", in->nan},
          {"positive_infinity", in->positive_infinity},
          {"negative_infinity", in->negative_infinity},
          {"zeros", in->zeros},
          {"mean", number(in->mean)},
          {"std", number(in->deviation)},
          {"min", number(in->minimum)},
          {"max", number(in->maximum)},
          {"absmax", number(in->absmax())},
          {"sum", number(in->sum)},
          {"l1", number(in->l1)},
          {"l2", number(in->l2)}};
}

Json mode_or_null(format::StepMode mode) { return text_or_null(text::mode_name(mode)); }

Json dtype_or_null(int dtype) { return dtype < 0 ? Json(nullptr) : Json(analyzer::dtype_name(dtype)); }

Json finding_object(const values::NonFinite& in) {
  Json inputs = Json::array();
  for (const values::FoundInput& input : in.inputs) {
    inputs.push_back({{"text", input.text}, {"statistics", statistics_object(input.statistics)}});
  }
  return {{"headline", in.headline},
          {"step", in.step},
          {"mode", mode_or_null(in.mode)},
          {"backward", in.backward},
          {"operation", text_or_null(in.operation)},
          {"module", text_or_null(in.module)},
          {"site", text_or_null(in.site)},
          {"stack", in.stack},
          {"dtype", dtype_or_null(in.dtype)},
          {"shape", in.shape},
          {"statistics", statistics_object(in.statistics)},
          {"inputs", std::move(inputs)}};
}

Json file_object(const ValuesFile& file) {
  Json watches = Json::array(), findings = Json::array(), losses = Json::array(), unmatched = Json::array();
  for (const values::Watch& watch : file.watches()) {
    watches.push_back({{"text", watch.text}, {"path", watch.path}, {"origin", watch.origin}, {"full", watch.full}});
  }
  for (const values::NonFinite& finding : file.findings()) findings.push_back(finding_object(finding));
  for (const values::Loss& loss : file.losses()) {
    losses.push_back({{"what", loss.what}, {"count", loss.count}, {"detail", text_or_null(loss.detail)}});
  }
  for (const values::Unmatched& row : file.unmatched()) {
    unmatched.push_back({{"watch", row.watch}, {"nearest", row.nearest}});
  }
  const analyzer::Process& process = file.process();
  return {{"path", file.path()},
          {"program", process.program},
          {"pid", process.pid},
          {"host", process.host},
          {"rank", natural_or_null(process.rank)},
          {"closed", file.closed()},
          {"problems", file.problems()},
          {"values", file.value_count()},
          {"calls", file.call_count()},
          {"watches", std::move(watches)},
          {"findings", std::move(findings)},
          {"losses", std::move(losses)},
          {"unmatched", std::move(unmatched)}};
}

Json head(const text::ValuesFiles& files) {
  Json list = Json::array();
  for (const auto& file : files) list.push_back(file_object(*file));
  return {{"schema", kValuesSchema}, {"files", std::move(list)}};
}

Json value_object(const ValuesFile& file, size_t index, const Value& value,
                  const std::optional<Statistics>& statistics) {
  Json out = {{"file", index},
              {"serial", value.serial},
              {"name", value.name},
              {"step", value.step},
              {"pass", value.pass},
              {"index", value.index},
              {"mode", mode_or_null(value.mode)},
              {"time_unix_ns", file.unix_ns(value.time_ns)},
              {"thread", value.thread},
              {"module", text_or_null(value.module)},
              {"operation", text_or_null(value.operation)},
              {"site", text_or_null(value.site)},
              {"kind", format::EnumNameValueKind(value.kind)},
              {"place", format::EnumNameValuePlace(value.place)}};
  if (value.is_tensor()) {
    out["dtype"] = dtype_or_null(value.dtype);
    out["shape"] = value.shape;
    out["device"] = value.device.text();
  }
  out["unchanged"] = value.unchanged();
  out["statistics"] = statistics_object(statistics);
  Json series = Json::object();
  for (const values::Series& each : value.series) {
    Json numbers = Json::array();
    for (const double x : each.numbers) numbers.push_back(number(x));
    series[each.what] = std::move(numbers);
  }
  if (!series.empty()) out["series"] = std::move(series);
  return out;
}

// In C order; complex ones as pairs.
Json element_list(const values::Elements& in) {
  const size_t size = values::element_size(in.dtype);
  if (size == 0) return nullptr;
  Json out = Json::array();
  for (size_t i = 0; i < in.bytes.size() / size; ++i) {
    const char* at = in.bytes.data();
    if (in.dtype == values::kBool) {
      out.push_back(values::integer_of(in.dtype, at, i) != 0);
    } else if (in.dtype == values::kUint64) {
      out.push_back(uint64_t(values::integer_of(in.dtype, at, i)));
    } else if (values::is_complex(in.dtype)) {
      out.push_back({number(values::real_of(in.dtype, at, i)), number(values::imaginary_of(in.dtype, at, i))});
    } else if (values::is_floating(in.dtype)) {
      out.push_back(number(values::real_of(in.dtype, at, i)));
    } else {
      out.push_back(values::integer_of(in.dtype, at, i));
    }
  }
  return out;
}

}  // namespace

std::string values_json(const text::ValuesFiles& files, const std::vector<values::NameRow>& rows, size_t top) {
  std::string out = begun_object(head(files));
  std::vector<Json> names;
  for (const values::NameRow& row : rows) {
    if (top != 0 && names.size() >= top) break;
    const bool tensor = row.kind == format::ValueKind::tensor && !row.kind_varies;
    names.push_back({{"file", row.file},
                     {"name", row.name},
                     {"operation", text_or_null(row.operation)},
                     {"mode", mode_or_null(row.mode)},
                     {"values", row.values},
                     {"first_step", row.first_step},
                     {"last_step", row.last_step},
                     {"kind", row.kind_varies ? Json(nullptr) : Json(format::EnumNameValueKind(row.kind))},
                     {"dtype", row.dtype_varies ? Json(nullptr) : dtype_or_null(row.dtype)},
                     {"shape", tensor && !row.shape_varies ? Json(row.shape) : Json(nullptr)},
                     {"elements", row.elements},
                     {"not_finite", row.not_finite},
                     {"last", statistics_object(row.last)}});
  }
  add_rows(out, "names", names);
  return out + "}\n";
}

std::string statistics_json(const text::ValuesFiles& files, const std::vector<text::StatRow>& rows) {
  std::string out = begun_object(head(files));
  std::vector<Json> list;
  for (const text::StatRow& row : rows)
    list.push_back(value_object(*files[row.file], row.file, row.value, row.statistics));
  add_rows(out, "values", list);
  return out + "}\n";
}

std::string value_json(const text::ValuesFiles& files, size_t file, const Value& value) {
  const auto elements = files[file]->elements_of(value);
  std::optional<Statistics> statistics = values::statistics_at_hand(value);
  if (!statistics && elements && value.is_tensor()) statistics = values::statistics_of(*elements);
  Json out = {{"schema", kValuesSchema}, {"value", value_object(*files[file], file, value, statistics)}};
  Json& inner = out["value"];
  switch (value.kind) {
    case format::ValueKind::boolean:
      inner["elements"] = value.number != 0;
      break;
    case format::ValueKind::integer:
      inner["elements"] = value.integer;
      break;
    case format::ValueKind::real:
      inner["elements"] = number(value.number);
      break;
    case format::ValueKind::complex:
      inner["elements"] = {number(value.number), number(value.imaginary)};
      break;
    case format::ValueKind::tensor:
      if (elements && value.sliced) inner["kept_shape"] = elements->shape;
      inner["elements"] = elements ? element_list(*elements) : Json(nullptr);
      break;
    default:
      inner["elements"] = elements ? Json(elements->bytes) : Json(nullptr);
  }
  return text_of(out, 2) + "\n";
}

}  // namespace tensorscope::exports
