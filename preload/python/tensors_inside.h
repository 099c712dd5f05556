// SPDX-License-Identifier: Apache-2.0
// The tensors in what a function of the program returned or was given: in dicts, lists, tuples, dataclasses and what
// else was made by a class statement, but not in modules.
//
// Context: with the GIL, under run_or_abandon_on_oom(). Runs none of the program's code.
#pragma once

#include <string>

#include "python/interpreter.h"
#include "python/module_entry.h"
#include "python/named_tensors.h"
#include "support/function_ref.h"

namespace tensorscope::python {

struct TensorInside {
  LiveTensor tensor;
  Object* object;
  const std::string& way;  // from the structure to the tensor: "", "[0]", "['logits']", ".hidden[1]"
};
using FoundTensor = FunctionRef<void(const TensorInside& inside)>;

void each_tensor_inside(const Gil& gil, Object* structure, FoundTensor found);
// The same of what a module was given: "[0]", "[1]", ..., "['mask']".
void each_tensor_inside(const Gil& gil, const ModuleCall& call, FoundTensor found);

}  // namespace tensorscope::python
