// SPDX-License-Identifier: Apache-2.0
// A values file: what was captured, and the calls of modules.
#include <fmt/format.h>

#include "dump/type_names.h"
#include "tables/cells.h"
#include "values/element_type.h"

namespace tensorscope::tables {

namespace {

using values::Call;
using values::Value;
using enum Type;

std::string sizes(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text + "]";
}

constexpr Column kFiles[] = {
    kDumpColumn,
    {"path", text, "file", [](InputFile& file, const Row&, ColumnData& column) { column.text(file.path()); }},
    {"program", text, "",
     [](InputFile& file, const Row&, ColumnData& column) { column.text(file.values().process().program); }},
    {"pid", int64, "",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(file.values().process().pid); }},
    {"run_id", text, "the same in every file of one process",
     [](InputFile& file, const Row&, ColumnData& column) { column.text(file.values().process().run_id); }},
    {"rank", int64, "",
     [](InputFile& file, const Row&, ColumnData& column) {
       if (file.values().process().rank >= 0) column.int64(uint64_t(file.values().process().rank));
     }},
    {"is_closed", boolean, "false: the program still runs, or was killed",
     [](InputFile& file, const Row&, ColumnData& column) { column.boolean(file.values().closed()); }},
    {"captures", int64, "values in the file",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(file.values().value_count()); }},
    {"calls", int64, "calls in the file",
     [](InputFile& file, const Row&, ColumnData& column) { column.int64(file.values().call_count()); }},
};

const Value& value_at(const Row& row) { return *static_cast<const Value*>(row.object); }

template <auto Member>
void statistic(InputFile&, const Row& row, ColumnData& column) {
  const Value& value = value_at(row);
  if (!value.statistics) return;
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value.statistics.value().*Member)>, double>) {
    column.float64(value.statistics.value().*Member);
  } else {
    column.int64(value.statistics.value().*Member);
  }
}

// The number that a value is: one of Python, or the only element of a tensor.
void number(InputFile& file, const Row& row, ColumnData& column) {
  const Value& value = value_at(row);
  switch (value.kind) {
    case format::ValueKind::boolean:
    case format::ValueKind::real:
    case format::ValueKind::complex:
      return column.float64(value.number);
    case format::ValueKind::integer:
      return column.float64(double(value.integer));
    case format::ValueKind::tensor: {
      if (!value.stored || value.data_size > sizeof(double) * 2) return;
      const std::optional<values::Elements> elements = file.values().elements_of(value);
      if (!elements || values::element_size(elements->dtype) == 0) return;
      if (elements->bytes.size() != values::element_size(elements->dtype)) return;
      return column.float64(values::real_of(elements->dtype, elements->bytes.data(), 0));
    }
    default:
      return;
  }
}

void words(InputFile& file, const Row& row, ColumnData& column) {
  const Value& value = value_at(row);
  if (value.kind != format::ValueKind::text && value.kind != format::ValueKind::other) return;
  if (const std::optional<values::Elements> elements = file.values().elements_of(value)) column.text(elements->bytes);
}

constexpr Column kCaptures[] = {
    kDumpColumn,
    {"capture", int64, "number of the value in its file, from 1",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(value_at(row).serial); }},
    {"name", dictionary, "\"model.fc\", \"loss\"",
     [](InputFile&, const Row& row, ColumnData& column) { column.text(value_at(row).name); }},
    {"operation", dictionary, "that computed it",
     [](InputFile&, const Row& row, ColumnData& column) {
       text_or_null(column, std::string(value_at(row).operation));
     }},
    {"origin", dictionary,
     "output, input, parameter, buffer, gradient, optimizer_state, local, returned, saved, backward, other",
     [](InputFile&, const Row& row, ColumnData& column) {
       column.text(format::EnumNameValuePlace(value_at(row).place));
     }},
    {"module", dictionary, "nn.Module",
     [](InputFile&, const Row& row, ColumnData& column) { text_or_null(column, std::string(value_at(row).module)); }},
    {"kind", dictionary, "tensor, none, boolean, integer, real, text, complex, other",
     [](InputFile&, const Row& row, ColumnData& column) {
       column.text(format::EnumNameValueKind(value_at(row).kind));
     }},
    {"step", int64, "", [](InputFile&, const Row& row, ColumnData& column) { column.int64(value_at(row).step); }},
    {"pass", int64, "forward pass",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(value_at(row).pass); }},
    {"mode", dictionary, "train, eval, unknown",
     [](InputFile&, const Row& row, ColumnData& column) { column.text(format::EnumNameStepMode(value_at(row).mode)); }},
    {"position", int64, "of the values of this name in its pass, from 0",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(value_at(row).index); }},
    {"thread", int64, "", [](InputFile&, const Row& row, ColumnData& column) { column.int64(value_at(row).thread); }},
    {"time_unix_ns", int64, "nanoseconds since 1970",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.int64(file.values().unix_ns(value_at(row).time_ns));
     }},
    {"place", dictionary, "line: \"train.py:57\"",
     [](InputFile&, const Row& row, ColumnData& column) { text_or_null(column, std::string(value_at(row).site)); }},
    {"tensor", int64, "tensor as in dumps of the run",
     [](InputFile&, const Row& row, ColumnData& column) { number_or_null(column, value_at(row).tensor); }},
    {"call", int64, "call during which it was taken",
     [](InputFile&, const Row& row, ColumnData& column) { number_or_null(column, value_at(row).call); }},
    {"device", dictionary, "",
     [](InputFile&, const Row& row, ColumnData& column) {
       if (value_at(row).is_tensor()) column.text(value_at(row).device.text());
     }},
    {"dtype", dictionary, "",
     [](InputFile&, const Row& row, ColumnData& column) {
       if (value_at(row).is_tensor()) column.text(analyzer::dtype_name(value_at(row).dtype));
     }},
    {"shape", dictionary, "\"[64, 1024]\"",
     [](InputFile&, const Row& row, ColumnData& column) {
       if (value_at(row).is_tensor()) column.text(sizes(value_at(row).shape));
     }},
    {"elements", int64, "", statistic<&values::Statistics::count>},
    {"nan", int64, "NaNs", statistic<&values::Statistics::nan>},
    {"positive_infinity", int64, "", statistic<&values::Statistics::positive_infinity>},
    {"negative_infinity", int64, "", statistic<&values::Statistics::negative_infinity>},
    {"zeros", int64, "", statistic<&values::Statistics::zeros>},
    {"mean", float64, "of the finite elements, as the next ones are", statistic<&values::Statistics::mean>},
    {"std", float64, "", statistic<&values::Statistics::deviation>},
    {"min", float64, "", statistic<&values::Statistics::minimum>},
    {"max", float64, "", statistic<&values::Statistics::maximum>},
    {"sum", float64, "", statistic<&values::Statistics::sum>},
    {"l1", float64, "", statistic<&values::Statistics::l1>},
    {"l2", float64, "", statistic<&values::Statistics::l2>},
    {"number", float64, "a number, or the only element of a tensor", number},
    {"text", text, "a text, or the class of another object", words},
    {"note", dictionary, "why it could not be read",
     [](InputFile&, const Row& row, ColumnData& column) { text_or_null(column, std::string(value_at(row).note)); }},
};

const Call& call_at(const Row& row) { return *static_cast<const Call*>(row.object); }

constexpr Column kCalls[] = {
    kDumpColumn,
    {"call", int64, "id, from 1, in the order in which calls began",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(call_at(row).id); }},
    {"parent", int64, "call that it ran in; of a backward its forward call",
     [](InputFile&, const Row& row, ColumnData& column) { number_or_null(column, call_at(row).parent); }},
    {"module", dictionary, "nn.Module",
     [](InputFile&, const Row& row, ColumnData& column) { text_or_null(column, std::string(call_at(row).module)); }},
    {"class", dictionary, "of the nn.Module",
     [](InputFile&, const Row& row, ColumnData& column) {
       text_or_null(column, std::string(call_at(row).class_name));
     }},
    {"is_backward", boolean, "",
     [](InputFile&, const Row& row, ColumnData& column) { column.boolean(call_at(row).backward); }},
    {"raised", boolean, "it ended with an exception",
     [](InputFile&, const Row& row, ColumnData& column) { column.boolean(call_at(row).raised); }},
    {"is_unfinished", boolean, "",
     [](InputFile&, const Row& row, ColumnData& column) { column.boolean(call_at(row).unfinished); }},
    {"step", int64, "", [](InputFile&, const Row& row, ColumnData& column) { column.int64(call_at(row).step); }},
    {"pass", int64, "forward pass",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(call_at(row).pass); }},
    {"mode", dictionary, "train, eval, unknown",
     [](InputFile&, const Row& row, ColumnData& column) { column.text(format::EnumNameStepMode(call_at(row).mode)); }},
    {"position", int64, "of the calls of this module in its pass, from 0",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(call_at(row).index); }},
    {"thread", int64, "", [](InputFile&, const Row& row, ColumnData& column) { column.int64(call_at(row).thread); }},
    {"begin_unix_ns", int64, "nanoseconds since 1970",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.int64(file.values().unix_ns(call_at(row).begin_ns));
     }},
    {"duration_ns", int64, "null: it did not end",
     [](InputFile&, const Row& row, ColumnData& column) {
       if (call_at(row).end_ns >= call_at(row).begin_ns && !call_at(row).unfinished)
         column.int64(call_at(row).end_ns - call_at(row).begin_ns);
     }},
    {"live_before_bytes", int64, "live memory of the device",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(call_at(row).live_before); }},
    {"live_after_bytes", int64, "",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(call_at(row).live_after); }},
    {"peak_bytes", int64, "highest in between",
     [](InputFile&, const Row& row, ColumnData& column) { number_or_null(column, call_at(row).peak); }},
    {"saved_bytes", int64, "saved by autograd and still held at its end",
     [](InputFile&, const Row& row, ColumnData& column) { number_or_null(column, call_at(row).saved); }},
    {"place", dictionary, "who called: \"train.py:57\"",
     [](InputFile&, const Row& row, ColumnData& column) { text_or_null(column, std::string(call_at(row).site)); }},
};

constexpr Table kValuesTables[] = {
    {"values_files", "The values files themselves.", FileKind::values, kFiles,
     [](InputFile&, const VisitRow& visit) { visit({}); }},
    {"captures", "Captured values, with statistics.", FileKind::values, kCaptures,
     [](InputFile& file, const VisitRow& visit) {
       file.values().for_each_value([&](const Value& value) { return visit({.object = &value}); });
     }},
    {"calls", "Calls of modules.", FileKind::values, kCalls,
     [](InputFile& file, const VisitRow& visit) {
       file.values().for_each_call([&](const Call& call) { return visit({.object = &call}); });
     }},
};

}  // namespace

std::span<const Table> values_tables() { return kValuesTables; }

}  // namespace tensorscope::tables
