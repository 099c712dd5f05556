// What the calls of modules returned, exactly, where TENSORSCOPE_MODULE_OUTPUTS asks for it: a global forward hook of
// torch.nn notes each tensor in a returned structure, which may be made of dicts, lists, tuples and dataclasses. Keeps
// no tensor and no module alive.
//
// The hook is a Python function, so that torch.compile can trace it: while it traces, the function does nothing. It
// disables torch's fast path for every module call, hence the option.
//
// Context: with the GIL, which is the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "python/interpreter.h"

namespace tensorscope::python {

struct ModuleOutput {
  uint64_t serial;
  const void* impl;
  Object* module;   // a weak reference to it
  std::string way;  // from what was returned to the tensor: "", "[0]", "['logits']", ".hidden[1]"
};

// Registers the hook. False: torch has not been imported whole yet; ask again.
bool record_module_outputs(const Gil& gil);

// Calls f(output, module) for each output that is alive, in the order of the calls' ends; others are forgotten, and so
// is what a module returned that is gone.
void each_module_output(const Gil& gil, void (*f)(const ModuleOutput&, Object* module, void*), void* context);

inline constexpr size_t kMostOutputs = size_t{1} << 16;

}  // namespace tensorscope::python
