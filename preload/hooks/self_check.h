// SPDX-License-Identifier: Apache-2.0
// Does what torch calls arrive at the hooks? For every library of torch in the process: which hooked names it defines
// or needs, and whether the slots through which it calls them hold our address. The answer goes into the coverage
// record.
//
// Context: activation, collector. The slots of a library are looked at until all of them are bound, so a repetition
// costs a walk over the loaded objects.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hooks/hook_table.h"
#include "support/loaded_object.h"

namespace tensorscope::hooks {

// Checks everything again and updates the coverage record of tensors, CPU, mapped and CUDA memory, calls of the CUDA
// runtime, autograd, out-of-memory errors and the dump signal. Returns what destruction_is_seen() does.
bool run_self_check();

// False where torch destroys tensors without telling us: the table of tensors would fill with dead ones, and looking at
// them would crash the program.
bool destruction_is_seen();

// The slots of one object for one hooked name.
struct Slots {
  uint32_t ours = 0;
  uint32_t foreign = 0;  // bound to something else
  uint32_t unbound = 0;  // the loader will look the name up at the first call
};

// `ours`: address of the hook.
Slots check_slots(const LoadedObject& object, const char* symbol, const void* ours);

}  // namespace tensorscope::hooks
