// SPDX-License-Identifier: Apache-2.0
#include "find_nan/checked_operation.h"

#include <pthread.h>
#include <string.h>

#include "find_nan/device_checks.h"
#include "live/tensor_table.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/pages.h"
#include "tensor_values/element_numbers.h"
#include "tensor_values/finite.h"

namespace tensorscope::find_nan {

constinit NanState g_nan;
constinit torch::TorchFunctions g_nan_functions;

namespace {

using tensor_values::Readable;
using tensor_values::TensorView;
using tensor_values::version_of;
using tensor_values::view_tensor;
using torch_events::each_tensor;
using torch_events::Operation;
using torch_events::Values;

constinit thread_local OperationThread* t_operations = nullptr;
pthread_key_t g_thread_key;

// What a running operation of the forking thread has found so far is the parent's.
FreshInChild g_fresh_nan{[] {
  make_anew(g_nan);
  if (t_operations == nullptr) return;
  t_operations->say_now = false;
  for (OperationFrame& frame : t_operations->frames) frame.origin = 0;
}};

void end_thread(void* state) {
  t_operations = nullptr;
  unmap_pages(state, sizeof(OperationThread));
}

// A tensor in `position`.
void enter_argument(OperationThread& thread, OperationFrame& frame, const void* impl, int position) {
  if (thread.arguments_used == OperationThread::kMaxArguments) {
    frame.whole = false;
    return;
  }
  OperationArgument& argument = thread.arguments[thread.arguments_used++];
  argument = {impl, 0, live::g_tensors.serial(impl), version_of(impl), int16_t(position), false, false, {}};
  TensorView view;
  if (g_nan.marks.any() && view_numbers(impl, view)) argument.mark = g_nan.marks.get(view);
}

}  // namespace

bool start_operation_threads() { return pthread_key_create(&g_thread_key, end_thread) == 0; }

OperationThread* known_operation_thread() { return t_operations; }

OperationThread* this_operation_thread() {
  if (__builtin_expect(t_operations == nullptr, false)) {
    t_operations = static_cast<OperationThread*>(map_pages(sizeof(OperationThread)));
    if (t_operations) pthread_setspecific(g_thread_key, t_operations);
  }
  return t_operations;
}

bool is_leaf_with_gradient(const void* impl) {
  if (!g_nan_functions.requires_grad || !g_nan_functions.grad || !g_nan_functions.grad_fn ||
      !g_nan_functions.requires_grad(impl)) {
    return false;
  }
  const void* const* gradient = g_nan_functions.grad(impl);
  const void* tensor = impl;
  return gradient && *gradient && *gradient != g_nan_functions.undefined_tensor &&
         g_nan_functions.grad_fn(&tensor) == nullptr;
}

bool view_numbers(const void* impl, TensorView& view) {
  const Readable readable = view_tensor(impl, view);
  if (readable == Readable::device) {
    if (!g_nan.device_seen.exchange(true, std::memory_order_relaxed)) {
      set_coverage(Subject::find_nan, Seen::partly, "on devices only results of modules and gradients are checked");
    }
    want_device_checks();
  }
  return readable == Readable::yes && tensor_values::can_be_not_finite(view.dtype);
}

bool is_whole_storage(const TensorView& view) {
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] == 0 && view.sizes[i] > 1) return false;
  }
  return view.data == view.storage_data && uint64_t(view.numel) * uint64_t(view.itemsize) >= view.storage_bytes;
}

void OperationResults::add(const void* impl, int position, Overwrites overwrites) {
  for (int i = 0; i < count; ++i) {
    if (all[i].impl == impl) return;
  }
  if (count == kMax) return;
  OperationResult& result = all[count];
  if (!view_numbers(impl, result.view)) {
    const bool written = overwrites != Overwrites::nothing && result.view.storage_data != nullptr;
    if (written) g_nan.bounds.forget(result.view);  // its bits as another dtype's
    return;
  }
  result.impl = impl;
  result.position = position;
  result.overwrites = overwrites;
  ++count;
}

void enter_arguments(OperationThread& thread, OperationFrame& frame, const Values& inputs) {
  frame.first = thread.arguments_used;
  for (size_t i = 0; i < inputs.count; ++i) {
    const torch_events::Value& value = inputs.first[i];
    if (value.tag == torch_events::kDoubleTag || value.tag == torch_events::kIntTag) {
      if (thread.arguments_used == OperationThread::kMaxArguments) continue;
      double number;
      if (value.tag == torch_events::kDoubleTag) {
        memcpy(&number, &value.payload, sizeof number);
      } else {
        number = double(int64_t(value.payload));
      }
      thread.arguments[thread.arguments_used++] = {nullptr, number, 0, 0, int16_t(i), false, false, {}};
      continue;
    }
    each_tensor(value, [&](const void* impl) { enter_argument(thread, frame, impl, int(i)); });
  }
  frame.end = thread.arguments_used;
}

void drop_freed(OperationThread& thread, const OperationFrame& frame) {
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    OperationArgument& argument = thread.arguments[i];
    if (argument.impl == nullptr || live::g_tensors.serial(argument.impl) == argument.serial) continue;
    argument.impl = nullptr;
    argument.gone = true;
  }
}

void collect_results(const Operation& operation, const OperationThread& thread, const OperationFrame& frame,
                     const Values& outputs, OperationResults& results) {
  for (size_t i = 0; i < outputs.count; ++i) {
    each_tensor(outputs.first[i], [&](const void* impl) {
      Overwrites overwrites = Overwrites::nothing;
      for (uint32_t j = frame.first; j < frame.end; ++j) {
        const OperationArgument& argument = thread.arguments[j];
        if (argument.impl != impl) continue;
        if (frame.kind->writes) {
          overwrites = frame.kind->replaces ? Overwrites::whole : Overwrites::changed;
        } else if (argument.version != version_of(impl) || operation.writes_out()) {
          overwrites = Overwrites::whole;
        } else {
          return;  // given back as it was
        }
        break;
      }
      results.add(impl, int(i), overwrites);
    });
  }
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    const OperationArgument& argument = thread.arguments[i];
    if (argument.impl == nullptr) continue;
    const bool first = frame.kind->writes && argument.position == 0;
    if (first || argument.version != version_of(argument.impl)) {
      results.add(argument.impl, argument.position, frame.kind->writes ? Overwrites::changed : Overwrites::whole);
    }
  }
}

bool is_view(const OperationThread& thread, const OperationFrame& frame, const OperationResult& result) {
  if (result.overwrites != Overwrites::nothing) return false;
  for (uint32_t i = frame.first; i < frame.end; ++i) {
    TensorView view;
    if (thread.arguments[i].impl == nullptr || view_tensor(thread.arguments[i].impl, view) != Readable::yes) continue;
    if (view.storage == result.view.storage) return true;
  }
  return false;
}

}  // namespace tensorscope::find_nan
