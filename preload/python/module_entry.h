// SPDX-License-Identifier: Apache-2.0
// Every call of a torch.nn module that Python runs, seen where the interpreter enters torch.nn.Module._call_impl, which
// calls of a module go through, those of classes with a __call__ of their own among them.
//
// The function's own vectorcall entry (PyFunctionObject, CPython 3.8 to 3.14) is replaced by one that calls the
// observers, the interpreter's entry, and the observers again; PyFunction_SetVectorcall is the interpreter's way to do
// so from 3.12 on. Module.__call__ calls the function with *args, which no CPython turns into a call without the entry
// (Python/ceval.c). Nothing that Python sees is changed: no hook is registered, so torch keeps its fast path, and
// torch.compile traces the function's code as it is; of what it compiled, the outermost call alone is seen.
//
// Not seen: calls of forward(); calls with fake or functional tensors, by which torch.compile and torch.export trace.
//
// Context: with the GIL.
#pragma once

#include <cstddef>

#include "python/interpreter.h"
#include "support/status.h"

namespace tensorscope::python {

struct ModuleCall {
  Object* module;
  Object* const* arguments;     // behind the module; valid while the call runs and until `ends` returns
  ptrdiff_t count;              // of those given by position
  Object* keywords;             // tuple of the names of those that follow, or null
  const void* stack;            // an address in the frame that runs the call: what lies deeper belongs to it
  Object* result = nullptr;     // borrowed; null: the call raised, or has not ended
  Object* exception = nullptr;  // the class of what it raised
};

// May allocate, but does not raise. What the call raised is set aside meanwhile.
struct ModuleCallObserver {
  void (*begins)(const Gil& gil, const ModuleCall& call);  // may be null
  void (*ends)(const Gil& gil, const ModuleCall& call);
};

// From now on, until the process ends; at most four. torch.nn has been imported whole.
Status observe_module_calls(const Gil& gil, const ModuleCallObserver& observer);

}  // namespace tensorscope::python
