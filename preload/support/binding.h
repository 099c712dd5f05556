// SPDX-License-Identifier: Apache-2.0
// What a caller of a function that the preload stands before would have been bound to without the preload, where
// several libraries in the process may define the name (two versions of the CUDA runtime, a copy of it inside a
// library).
//
// Context: hook, where no lock of ours is held, and collector. A walk over the loaded objects: callers keep the answer.
#pragma once

#include "support/loaded_object.h"

namespace tensorscope::hooks {

struct Binding {
  LoadedObject caller;       // the object that `inside_caller` lies in; false: none
  void* function = nullptr;  // null: nothing in the process defines the name
};

// The caller's own definition; else that of the library whose version the caller's reference names, by SONAME; else
// (the caller took the address from somewhere) the first in load order.
Binding find_binding(const char* symbol, const void* inside_caller);

}  // namespace tensorscope::hooks
