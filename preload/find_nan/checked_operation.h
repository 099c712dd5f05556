// SPDX-License-Identifier: Apache-2.0
// One running operation as --find-nan follows it: its arguments, what was known of their values before, and its
// results.
//
// Context: the callbacks of operations (operation_trace.h); what belongs to a thread is that thread's.
#pragma once

#include <atomic>
#include <cstdint>

#include "find_nan/storage_marks.h"
#include "support/ids.h"
#include "tensor_values/tensor_view.h"
#include "tensor_values/value_bounds.h"
#include "torch/metadata/torch_functions.h"
#include "torch_events/operation_kinds.h"
#include "torch_events/operation_trace.h"

namespace tensorscope::find_nan {

// Of the whole process.
struct NanState {
  StorageMarks marks;                    // what is known of the values of storages
  tensor_values::ValueBounds bounds;     // and how large they are at most
  std::atomic<bool> device_seen{false};  // a tensor that is not in the computer's own memory
};
extern NanState g_nan;
extern torch::TorchFunctions g_nan_functions;

// A tensor, or a number.
struct OperationArgument {
  const void* impl = nullptr;  // null: a number, or gone
  double number = 0;
  Serial serial = 0;
  uint32_t version = 0;
  int16_t position = 0;
  bool bad_before = false;  // written by this operation, and was not finite
  bool gone = false;        // a tensor that was freed before the operation was over: TorchScript does that
  Mark mark;                // what was known of its values before
  bool is_number() const { return impl == nullptr && !gone; }
};

struct OperationFrame {
  const void* record = nullptr;
  const char* name = nullptr;
  const torch_events::OperationKind* kind = nullptr;
  uint32_t first = 0, end = 0;  // arguments
  uint8_t origin = 0;           // a possible finding that an operation within made
  bool whole = true;            // all arguments had room
};

// The operations that run on a thread, one within the other.
struct OperationThread {
  static constexpr int kMaxDepth = 64;
  static constexpr uint32_t kMaxArguments = 16384;
  static constexpr int kMaxKept = 64;

  // A result that an operation within computed and that nobody has written since, unless by no operation.
  struct Kept {
    const void* impl;
    Serial serial;
  };

  OperationFrame frames[kMaxDepth];
  int depth = 0;  // may be larger than kMaxDepth
  uint32_t arguments_used = 0;
  Kept kept[kMaxKept];
  int kept_count = 0;
  bool say_now = false;  // once no guard is held
  OperationArgument arguments[kMaxArguments];
};

enum class Overwrites : uint8_t { nothing, changed, whole };  // an argument: of its old values nothing is left

struct OperationResult {
  const void* impl;
  tensor_values::TensorView view;
  int position;
  Overwrites overwrites;
};

struct OperationResults {
  static constexpr int kMax = 64;
  OperationResult all[kMax];
  int count = 0;
  void add(const void* impl, int position, Overwrites overwrites);
};

// False: no key of thread-specific data is left.
bool start_operation_threads();
// Null: no memory.
OperationThread* this_operation_thread();
// Null: this thread has seen no operation.
OperationThread* known_operation_thread();

// The tensors and numbers that it is given.
void enter_arguments(OperationThread& thread, OperationFrame& frame, const torch_events::Values& inputs);
// At its end: arguments that live no longer.
void drop_freed(OperationThread& thread, const OperationFrame& frame);
// What it gave back and what it wrote.
void collect_results(const torch_events::Operation& operation, const OperationThread& thread,
                     const OperationFrame& frame, const torch_events::Values& outputs, OperationResults& results);
// A result in the memory of an argument computes nothing.
bool is_view(const OperationThread& thread, const OperationFrame& frame, const OperationResult& result);

// False: it has no numbers that can be read here, or none that can be NaN.
bool view_numbers(const void* impl, tensor_values::TensorView& view);
// Whether all of its storage is this tensor: what was known of the storage holds no longer.
bool is_whole_storage(const tensor_values::TensorView& view);
bool is_leaf_with_gradient(const void* impl);

}  // namespace tensorscope::find_nan
