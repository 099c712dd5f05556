// SPDX-License-Identifier: Apache-2.0
// What a tensor's category is decided from, and the verdict: which category, by which rule (category_judge.h).
//
// Context: any. No allocation, no exceptions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dump_generated.h"
#include "tensorscope/rules/categories.h"

namespace tensorscope::category {

enum class Answer : uint8_t { no, yes, unknown };

// What Python says of the tensor's own object.
struct PythonObject {
  bool known = false;  // else Python never saw the tensor, or was not looked through
  format::WrapperState state{};
  bool optimized = false;  // in the param_groups of an optimizer
  bool trained = false;    // a torch.nn.Parameter
  format::ReferenceWithin within = format::ReferenceWithin::nothing;
};

// The facts of one tensor that cost nothing. "Memory": what the tensor's memory was allocated for, which is not where a
// view of it was made. Stacks are bits of code::TorchPart.
struct Facts {
  bool python_complete = false;  // all references are known
  bool graph_complete = true;    // all nodes are known, and so what they save
  bool python_program = true;    // the program has Python at all
  bool freed = false;            // before names were looked up in Python
  bool freed_during_dump = false;
  bool leaf = false, requires_grad = false, has_gradient = false;
  bool is_gradient = false;       // another tensor's .grad
  bool made_in_backward = false;  // its memory, of a node that was recorded
  bool in_slot = false;           // of a node that is no accumulator
  bool output_of_slot_node = false;
  bool memory_has_stack = false;
  uint8_t made = 0, memory = 0;  // code::TorchPart
  PythonObject object;
  bool may_be_part = false;  // of a sparse tensor or a wrapper, whose category it would have
};

// Why: which rule decided.
enum class Why : uint8_t {
  nothing,
  evidence_missing,
  parameter_of_module,  // by a reference
  in_param_groups,
  torch_parameter,
  leaf_with_gradient,
  leaf_made_by_torch_nn,
  buffer_of_module,  // by a reference
  made_by_native_module,
  gradient,
  state_of_optimizer,  // by a reference
  made_by_native_optimizer,
  made_by_optimizer,
  in_dataset,
  in_kv_cache,
  made_by_data_loading,
  from_other_process,
  made_by_native_data,
  saved_in_slot,
  given_to_slot,
  saved_by_python_node,  // by a reference
  in_container,          // by a reference
  made_by_communication,
  made_by_native_communication,
  made_in_backward,
  freed_during_dump,
  local_of_running_torch,  // by a reference
  returned_by_module,      // `reference` holds it
  in_variable,             // by a reference
  in_class_attribute,      // by a reference
  held_by_torch,           // by a reference
  in_function_cache,       // by a reference
  cast_of_leaf,
  made_by_optimizer_cpp_only,
  made_in_module_call
};

inline constexpr size_t kNoReference = SIZE_MAX;

struct Verdict {
  Category category = Category::unknown;
  Why why = Why::nothing;
  size_t reference = kNoReference;        // the one that it rests on
  size_t output = kNoReference;           // returned_by_module: the reference that says so; none: inferred
  Category possible = Category::unknown;  // evidence_missing: the strongest that it may be
};

}  // namespace tensorscope::category
