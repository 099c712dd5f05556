// SPDX-License-Identifier: Apache-2.0
#include "find_nan/nan_origin.h"

#include <cmath>

#include "tensor_values/element_numbers.h"
#include "tensor_values/finite.h"
#include "torch_events/operation_kinds.h"

namespace tensorscope::find_nan {

namespace {

using tensor_values::any_not_finite;
using tensor_values::Statistics;
using tensor_values::statistics_of;
using tensor_values::TensorView;
using torch_events::ValueOrigin;

struct Inputs {
  bool bad = false, deliberate = false, unwritten = false, outside = false;
  uint8_t origin = 0;
};

Inputs look_at_inputs(const OperationThread& thread, const OperationFrame& frame, const OperationResults& results) {
  Inputs out;
  for (uint32_t i = frame.first; i < frame.end && !out.bad; ++i) {
    const OperationArgument& argument = thread.arguments[i];
    if (argument.gone && (argument.mark.flags & Mark::kBad) != 0) {
      out.bad = true;
      out.origin = argument.mark.origin;
    }
    out.deliberate = out.deliberate || (argument.gone && (argument.mark.flags & Mark::kDeliberate) != 0);
    TensorView view;
    if (argument.impl == nullptr || !view_numbers(argument.impl, view)) continue;
    const Mark mark = g_nan.marks.get(view);
    bool written = false, whole = false;
    for (int j = 0; j < results.count; ++j) {
      if (results.all[j].view.storage != view.storage) continue;
      written = written || results.all[j].overwrites == Overwrites::changed;
      whole = whole || (results.all[j].impl == argument.impl && results.all[j].overwrites == Overwrites::whole);
    }
    if (whole) continue;
    if (written ? !argument.bad_before && mark.flags == 0 : !any_not_finite(view)) continue;
    if ((mark.flags & Mark::kBad) != 0) {
      out.bad = true;
      out.origin = mark.origin;
    } else if ((mark.flags & Mark::kDeliberate) != 0) {
      out.deliberate = true;
    } else if ((mark.flags & Mark::kUnwritten) != 0) {
      out.unwritten = true;
    } else if (written) {
      out.outside = true;
    } else {
      // Infinities that nobody has computed are what a program writes into a mask or begins a search with.
      Statistics statistics;
      statistics_of(view, statistics);
      const bool mask = statistics.nan == 0 && (statistics.positive_infinity == 0 || view.numel == 1);
      (mask ? out.deliberate : out.outside) = true;
    }
  }
  return out;
}

// The program gave a number that is not finite as an argument.
bool has_such_a_number(const OperationThread& thread, const OperationFrame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    if (thread.arguments[i].is_number() && !std::isfinite(thread.arguments[i].number)) return true;
  }
  return false;
}

bool any_nan(const OperationResult* const* bad, int bad_count) {
  for (int i = 0; i < bad_count; ++i) {
    Statistics statistics;
    statistics_of(bad[i]->view, statistics);
    if (statistics.nan != 0) return true;
  }
  return false;
}

}  // namespace

NanOrigin nan_origin(const OperationThread& thread, const OperationFrame& frame, const OperationResults& results,
                     const OperationResult* const* bad, int bad_count) {
  const Inputs inputs = look_at_inputs(thread, frame, results);
  if (inputs.bad) return {NanOrigin::Kind::argument, inputs.origin};
  if (inputs.unwritten && !inputs.outside && frame.origin == 0) return {NanOrigin::Kind::unwritten_memory};
  const bool number = has_such_a_number(thread, frame);
  const bool placed = number && frame.kind->origin == ValueOrigin::filled;
  // An infinity that becomes an infinity is still meant: the logarithm of a sum over a masked row.
  if (!inputs.outside && (placed || (inputs.deliberate && !any_nan(bad, bad_count))))
    return {NanOrigin::Kind::deliberate};
  if (frame.origin != 0) return {NanOrigin::Kind::operation_within};
  const Cause cause = inputs.outside      ? Cause::outside
                      : inputs.deliberate ? Cause::deliberate
                      : number            ? Cause::argument
                                          : Cause::computed;
  return {NanOrigin::Kind::here, 0, cause};
}

}  // namespace tensorscope::find_nan
