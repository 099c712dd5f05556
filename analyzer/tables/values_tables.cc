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
    {"path", text, "file", [](In in, At, Out out) { out.text(in.path()); }},
    {"program", text, "", [](In in, At, Out out) { out.text(in.values().process().program); }},
    {"pid", whole, "", [](In in, At, Out out) { out.whole(in.values().process().pid); }},
    {"run_id", text, "the same in every file of one process",
     [](In in, At, Out out) { out.text(in.values().process().run_id); }},
    {"rank", whole, "",
     [](In in, At, Out out) {
       if (in.values().process().rank >= 0) out.whole(uint64_t(in.values().process().rank));
     }},
    {"is_closed", truth, "false: the program still runs, or was killed",
     [](In in, At, Out out) { out.truth(in.values().closed()); }},
    {"captures", whole, "values in the file", [](In in, At, Out out) { out.whole(in.values().value_count()); }},
    {"calls", whole, "calls in the file", [](In in, At, Out out) { out.whole(in.values().call_count()); }},
};

const Value& value_at(At at) { return *static_cast<const Value*>(at.object); }

template <auto Member>
void statistic(In, At at, Out out) {
  const Value& value = value_at(at);
  if (!value.statistics) return;
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value.statistics.value().*Member)>, double>) {
    out.real(value.statistics.value().*Member);
  } else {
    out.whole(value.statistics.value().*Member);
  }
}

// The number that a value is: one of Python, or the only element of a tensor.
void number(In in, At at, Out out) {
  const Value& value = value_at(at);
  switch (value.kind) {
    case format::ValueKind::boolean:
    case format::ValueKind::real:
    case format::ValueKind::complex:
      return out.real(value.number);
    case format::ValueKind::integer:
      return out.real(double(value.integer));
    case format::ValueKind::tensor: {
      if (!value.stored || value.data_size > sizeof(double) * 2) return;
      const std::optional<values::Elements> elements = in.values().elements_of(value);
      if (!elements || values::element_size(elements->dtype) == 0) return;
      if (elements->bytes.size() != values::element_size(elements->dtype)) return;
      return out.real(values::real_of(elements->dtype, elements->bytes.data(), 0));
    }
    default:
      return;
  }
}

void words(In in, At at, Out out) {
  const Value& value = value_at(at);
  if (value.kind != format::ValueKind::text && value.kind != format::ValueKind::other) return;
  if (const std::optional<values::Elements> elements = in.values().elements_of(value)) out.text(elements->bytes);
}

constexpr Column kCaptures[] = {
    kDumpColumn,
    {"capture", whole, "number of the value in its file, from 1",
     [](In, At at, Out out) { out.whole(value_at(at).serial); }},
    {"name", word, "\"model.fc\", \"loss\"", [](In, At at, Out out) { out.text(value_at(at).name); }},
    {"operation", word, "that computed it",
     [](In, At at, Out out) { text_or_null(out, std::string(value_at(at).operation)); }},
    {"origin", word,
     "output, input, parameter, buffer, gradient, optimizer_state, local, returned, saved, backward, other",
     [](In, At at, Out out) { out.text(format::EnumNameValuePlace(value_at(at).place)); }},
    {"module", word, "nn.Module", [](In, At at, Out out) { text_or_null(out, std::string(value_at(at).module)); }},
    {"kind", word, "tensor, none, boolean, integer, real, text, complex, other",
     [](In, At at, Out out) { out.text(format::EnumNameValueKind(value_at(at).kind)); }},
    {"step", whole, "", [](In, At at, Out out) { out.whole(value_at(at).step); }},
    {"pass", whole, "forward pass", [](In, At at, Out out) { out.whole(value_at(at).pass); }},
    {"mode", word, "train, eval, unknown",
     [](In, At at, Out out) { out.text(format::EnumNameStepMode(value_at(at).mode)); }},
    {"position", whole, "of the values of this name in its pass, from 0",
     [](In, At at, Out out) { out.whole(value_at(at).index); }},
    {"thread", whole, "", [](In, At at, Out out) { out.whole(value_at(at).thread); }},
    {"time_unix_ns", whole, "nanoseconds since 1970",
     [](In in, At at, Out out) { out.whole(in.values().unix_ns(value_at(at).time_ns)); }},
    {"place", word, "line: \"train.py:57\"",
     [](In, At at, Out out) { text_or_null(out, std::string(value_at(at).site)); }},
    {"tensor", whole, "tensor as in dumps of the run",
     [](In, At at, Out out) { number_or_null(out, value_at(at).tensor); }},
    {"call", whole, "call during which it was taken",
     [](In, At at, Out out) { number_or_null(out, value_at(at).call); }},
    {"device", word, "",
     [](In, At at, Out out) {
       if (value_at(at).is_tensor()) out.text(value_at(at).device.text());
     }},
    {"dtype", word, "",
     [](In, At at, Out out) {
       if (value_at(at).is_tensor()) out.text(analyzer::dtype_name(value_at(at).dtype));
     }},
    {"shape", word, "\"[64, 1024]\"",
     [](In, At at, Out out) {
       if (value_at(at).is_tensor()) out.text(sizes(value_at(at).shape));
     }},
    {"elements", whole, "", statistic<&values::Statistics::count>},
    {"nan", whole, "NaNs", statistic<&values::Statistics::nan>},
    {"positive_infinity", whole, "", statistic<&values::Statistics::positive_infinity>},
    {"negative_infinity", whole, "", statistic<&values::Statistics::negative_infinity>},
    {"zeros", whole, "", statistic<&values::Statistics::zeros>},
    {"mean", real, "of the finite elements, as the next ones are", statistic<&values::Statistics::mean>},
    {"std", real, "", statistic<&values::Statistics::deviation>},
    {"min", real, "", statistic<&values::Statistics::minimum>},
    {"max", real, "", statistic<&values::Statistics::maximum>},
    {"sum", real, "", statistic<&values::Statistics::sum>},
    {"l1", real, "", statistic<&values::Statistics::l1>},
    {"l2", real, "", statistic<&values::Statistics::l2>},
    {"number", real, "a number, or the only element of a tensor", number},
    {"text", text, "a text, or the class of another object", words},
    {"note", word, "why it could not be read",
     [](In, At at, Out out) { text_or_null(out, std::string(value_at(at).note)); }},
};

const Call& call_at(At at) { return *static_cast<const Call*>(at.object); }

constexpr Column kCalls[] = {
    kDumpColumn,
    {"call", whole, "id, from 1, in the order in which calls began",
     [](In, At at, Out out) { out.whole(call_at(at).id); }},
    {"parent", whole, "call that it ran in; of a backward its forward call",
     [](In, At at, Out out) { number_or_null(out, call_at(at).parent); }},
    {"module", word, "nn.Module", [](In, At at, Out out) { text_or_null(out, std::string(call_at(at).module)); }},
    {"class", word, "of the nn.Module",
     [](In, At at, Out out) { text_or_null(out, std::string(call_at(at).class_name)); }},
    {"is_backward", truth, "", [](In, At at, Out out) { out.truth(call_at(at).backward); }},
    {"raised", truth, "it ended with an exception", [](In, At at, Out out) { out.truth(call_at(at).raised); }},
    {"is_unfinished", truth, "", [](In, At at, Out out) { out.truth(call_at(at).unfinished); }},
    {"step", whole, "", [](In, At at, Out out) { out.whole(call_at(at).step); }},
    {"pass", whole, "forward pass", [](In, At at, Out out) { out.whole(call_at(at).pass); }},
    {"mode", word, "train, eval, unknown",
     [](In, At at, Out out) { out.text(format::EnumNameStepMode(call_at(at).mode)); }},
    {"position", whole, "of the calls of this module in its pass, from 0",
     [](In, At at, Out out) { out.whole(call_at(at).index); }},
    {"thread", whole, "", [](In, At at, Out out) { out.whole(call_at(at).thread); }},
    {"begin_unix_ns", whole, "nanoseconds since 1970",
     [](In in, At at, Out out) { out.whole(in.values().unix_ns(call_at(at).begin_ns)); }},
    {"duration_ns", whole, "null: it did not end",
     [](In, At at, Out out) {
       if (call_at(at).end_ns >= call_at(at).begin_ns && !call_at(at).unfinished)
         out.whole(call_at(at).end_ns - call_at(at).begin_ns);
     }},
    {"live_before_bytes", whole, "live memory of the device",
     [](In, At at, Out out) { out.whole(call_at(at).live_before); }},
    {"live_after_bytes", whole, "", [](In, At at, Out out) { out.whole(call_at(at).live_after); }},
    {"peak_bytes", whole, "highest in between", [](In, At at, Out out) { number_or_null(out, call_at(at).peak); }},
    {"saved_bytes", whole, "saved by autograd and still held at its end",
     [](In, At at, Out out) { number_or_null(out, call_at(at).saved); }},
    {"place", word, "who called: \"train.py:57\"",
     [](In, At at, Out out) { text_or_null(out, std::string(call_at(at).site)); }},
};

constexpr Table kValuesTables[] = {
    {"values_files", "The values files themselves.", FileKind::values, kFiles,
     [](In, const VisitRow& visit) { visit({}); }},
    {"captures", "Captured values, with statistics.", FileKind::values, kCaptures,
     [](In in, const VisitRow& visit) {
       in.values().for_each_value([&](const Value& value) { return visit({.object = &value}); });
     }},
    {"calls", "Calls of modules.", FileKind::values, kCalls,
     [](In in, const VisitRow& visit) {
       in.values().for_each_call([&](const Call& call) { return visit({.object = &call}); });
     }},
};

}  // namespace

std::span<const Table> values_tables() { return kValuesTables; }

}  // namespace tensorscope::tables
