// SPDX-License-Identifier: Apache-2.0
// The bridge to the interpreter, where there is one: what needs the GIL and Python's own API.
//
// The API is resolved at run time from the loaded objects (static python, libpython, or libpython opened later);
// nothing is compiled against Python.
#pragma once

#include <cstdint>

#include "python/program_facts.h"

namespace tensorscope::python {

// Context: collector, called when torch is seen, while waits_for_torch_nn(), and by look_at_program() until it
// succeeds. Finds an initialised interpreter and has a thread that waits for the GIL register the exit dump with
// `atexit`, and put `libtensorscope` into sys.modules where the inittab came too late, and have what modules return
// recorded if TENSORSCOPE_MODULE_OUTPUTS is set. Does not wait for that thread. Returns true once all is done.
bool attach();

// Context: collector. True while attach() must be called again because torch.nn was not there yet.
bool waits_for_torch_nn();

// What a look at the program's objects may cost.
struct LookCosts {
  unsigned wait_ms;  // for the GIL
  unsigned hold_ms;  // the GIL
  uint64_t memory;   // in bytes
  // As the options say; where they do not limit memory, a share of what is left under the nearest limit of the system.
  static LookCosts allowed();
};

// Phase 2 of a dump. Context: collector, no table lock held. Takes the GIL and runs the heap inspector; where the GIL
// does not come, or the heap inspector fails or comes to a limit, the result says so. Complete and empty where there is
// no interpreter, or torch was never imported.
ProgramFacts look_at_program(const LookCosts& costs, const SnapshotFacts& facts);

}  // namespace tensorscope::python
