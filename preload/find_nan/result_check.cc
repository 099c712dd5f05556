// SPDX-License-Identifier: Apache-2.0
#include "find_nan/result_check.h"

#include "live/tensor_table.h"
#include "tensor_values/element_numbers.h"
#include "tensor_values/finite.h"

namespace tensorscope::find_nan {

namespace {

using tensor_values::any_not_finite;
using tensor_values::BoundArgument;
using tensor_values::kNoPower;
using tensor_values::Power;
using tensor_values::TensorView;
using torch_events::ValueOrigin;

constexpr int64_t kSmall = 4096;  // elements that are looked at once more rather than remembered

bool was_kept(const OperationThread& thread, const OperationResult& result) {
  for (int i = 0; i < thread.kept_count; ++i) {
    if (thread.kept[i].impl == result.impl) return thread.kept[i].serial == live::g_tensors.serial(result.impl);
  }
  return false;
}

void keep(OperationThread& thread, const OperationResult& result) {
  if (thread.kept_count == OperationThread::kMaxKept) return;
  thread.kept[thread.kept_count++] = {result.impl, live::g_tensors.serial(result.impl)};
}

// Values that come from arguments keep what is known of them.
void move_marks(const OperationThread& thread, const OperationFrame& frame, const OperationResult& result) {
  Mark mark;
  bool made = true;
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    const void* impl = thread.arguments[i].impl;
    if (impl == nullptr || (impl == result.impl && is_whole_storage(result.view) && frame.kind->writes)) continue;
    if (!view_numbers(impl, view)) continue;
    const Mark other = g_nan.marks.get(view);
    mark.flags |= other.flags;
    if (other.origin != 0) mark.origin = other.origin;
    made = made && g_nan.marks.is_made(view);
  }
  g_nan.marks.set(result.view, mark);
  if (made) g_nan.marks.set_made(result.view);
}

bool changes_dtype(const OperationThread& thread, const OperationFrame& frame, const OperationResult& result) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    const void* impl = thread.arguments[i].impl;
    if (impl == nullptr || impl == result.impl || !view_numbers(impl, view)) continue;
    if (view.dtype != result.view.dtype) return true;
  }
  return false;
}

// Whether bounds are kept for its allocation: small tensors are read.
bool is_bounded(const TensorView& view) { return view.storage_bytes > uint64_t(kSmall) * uint64_t(view.itemsize); }

Power bound_of_argument(const TensorView& view, int dtype) {
  if (view.numel <= kSmall) {
    Power power;
    return any_not_finite(view, power) ? kNoPower : power;
  }
  return view.dtype == dtype && g_nan.marks.get(view).flags == 0 ? g_nan.bounds.get(view) : kNoPower;
}

// What is known of a result without reading it.
Power bound_of(const OperationThread& thread, const OperationFrame& frame, const OperationResult& result) {
  constexpr size_t kMax = 32;
  if (!is_bounded(result.view) || frame.kind->bound == tensor_values::Bound::none || frame.end - frame.first > kMax)
    return kNoPower;
  BoundArgument known[kMax];
  size_t count = 0;
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    const OperationArgument& argument = thread.arguments[i];
    if (argument.impl == result.impl && frame.kind->replaces) continue;
    BoundArgument& bound = known[count++];
    bound.position = argument.position;
    bound.is_number = argument.is_number();
    bound.number = argument.number;
    TensorView view;
    if (argument.impl == nullptr || tensor_values::view_tensor(argument.impl, view) != tensor_values::Readable::yes)
      continue;
    if (view.numel == 1) {  // a number of the program, or one that counts as such
      bound.is_number = tensor_values::numbers_of(view.dtype, view.data, 1, &bound.number);
    } else if (tensor_values::can_be_not_finite(view.dtype)) {
      bound.power = bound_of_argument(view, result.view.dtype);
    }
  }
  return tensor_values::bound_of_result(frame.kind->bound, result.view.dtype, known, count);
}

void keep_bound(const OperationResult& result, Power power) {
  if (!is_bounded(result.view)) return;
  if (is_whole_storage(result.view)) {
    g_nan.bounds.set(result.view, power);
  } else {
    g_nan.bounds.widen(result.view, power);
  }
}

}  // namespace

void forget_bounds(const OperationThread& thread, const OperationFrame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    if (thread.arguments[i].impl != nullptr && view_numbers(thread.arguments[i].impl, view)) g_nan.bounds.forget(view);
  }
}

bool look_at_result(OperationThread& thread, const OperationFrame& frame, const OperationResult& result) {
  ValueOrigin origin = frame.kind->origin;
  if (origin == ValueOrigin::copied && changes_dtype(thread, frame, result)) origin = ValueOrigin::computed;
  switch (origin) {
    case ValueOrigin::uninitialised:
      if (result.overwrites == Overwrites::nothing) g_nan.marks.set(result.view, {Mark::kUnwritten, 0});
      return false;
    case ValueOrigin::finite:
      if (is_whole_storage(result.view)) g_nan.marks.set(result.view, {});
      g_nan.marks.set_made(result.view);
      keep_bound(result, bound_of(thread, frame, result));
      return false;
    case ValueOrigin::external:
    case ValueOrigin::nothing:
      return false;
    case ValueOrigin::copied:
      move_marks(thread, frame, result);
      keep_bound(result, bound_of(thread, frame, result));
      return false;
    case ValueOrigin::computed:
    case ValueOrigin::filled:
      break;
  }
  const bool large = result.view.numel > kSmall;
  if (large && was_kept(thread, result)) return (g_nan.marks.get(result.view).flags & Mark::kBad) != 0;
  Power power = large && origin == ValueOrigin::computed ? bound_of(thread, frame, result) : kNoPower;
  const bool bad = power == kNoPower && any_not_finite(result.view, power);
  keep_bound(result, bad ? kNoPower : power);
  if (!bad && (result.overwrites == Overwrites::nothing || is_whole_storage(result.view)))
    g_nan.marks.set(result.view, {});
  g_nan.marks.set_made(result.view);
  if (large && origin == ValueOrigin::computed && thread.depth > 0) keep(thread, result);
  return bad;
}

}  // namespace tensorscope::find_nan
