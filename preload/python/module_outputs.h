// SPDX-License-Identifier: Apache-2.0
// What the calls of modules returned, exactly, if TENSORSCOPE_MODULE_OUTPUTS is set: each tensor in a returned
// structure, which may be made of dicts, lists, tuples and dataclasses, is noted as a call ends (module_entry.h). Keeps
// no tensor and no module alive.
//
// Context: with the GIL, which is the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "python/interpreter.h"
#include "support/function_ref.h"

namespace tensorscope::python {

struct ModuleOutput {
  uint64_t serial;
  const void* impl;
  Object* module;   // a weak reference to it
  std::string way;  // from what was returned to the tensor: "", "[0]", "['logits']", ".hidden[1]"
};

// From now on. False: torch has not been imported whole yet; ask again.
bool record_module_outputs(const Gil& gil);

// Calls f(output, module) for each output that is alive, in the order of the calls' ends; others are forgotten, and so
// is what a module returned that is gone.
void each_module_output(const Gil& gil, FunctionRef<void(const ModuleOutput& output, Object* module)> f);

inline constexpr size_t kMaxOutputs = size_t{1} << 16;

}  // namespace tensorscope::python
