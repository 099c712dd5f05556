// SPDX-License-Identifier: Apache-2.0
// The bridge to the interpreter, where there is one: what needs the GIL and Python's own API.
//
// The API is resolved at run time from the loaded objects (static python, libpython, or libpython opened later);
// nothing is compiled against Python.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/references.h"

namespace tensorscope::python {

// Context: the library's constructor, before main. Adds the built-in module `libtensorscope` to the interpreter's
// inittab where the executable or libpython is already there. Costs two symbol look-ups, nothing else.
void register_builtin_module();

// Context: collector, called when torch is seen, while waits_for_torch_nn(), and by look_at_program() until it
// succeeds. Finds an initialised interpreter and has a thread that waits for the GIL register the exit dump with
// `atexit`, and put `libtensorscope` into sys.modules where the inittab came too late, and have what modules return
// recorded where that is asked for. Does not wait for that thread. True once all is done.
bool attach();

// Context: collector. True while attach() must be called again because torch.nn was not there yet.
bool waits_for_torch_nn();

// True where an interpreter that is initialised and not finalizing is known. Any context but signal.
bool interpreter_alive();

// True for the first caller in this process where the options want an exit dump here: who gets it writes that dump.
// Python's atexit asks first; the hooks of main and exit ask after it. Any thread, any context but signal.
bool claim_exit_dump();

// Writes the dump at the end of a Python program and waits for it. Context: activation.
using WriteExitDump = void (*)();
void set_exit_dump(WriteExitDump write);

struct ModuleName {
  uint64_t object;
  std::string path;  // "model.layers.0.fc1", "train.model" ...: as the heap inspector found it
  std::string class_name;
};

struct Names {
  bool complete = false;
  const char* detail = "";  // why it is not complete; a literal
  std::vector<ModuleName> modules;
};

// Of Python's own allocator, that of objects up to 512 bytes; in bytes, 0: not known.
struct PythonHeap {
  uint64_t arenas = 0, in_use = 0;
  const char* detail = "";  // why it is not known; a literal
};

// Of torch.distributed.
struct ProcessGroup {
  std::string name, mesh_dimension;  // mesh_dimension: "" where no DeviceMesh with names made it
  std::vector<int32_t> ranks;        // by position in the group
};
struct ProcessGroups {
  bool imported = false;  // torch.distributed is there
  bool complete = false;
  const char* detail = "";  // why it is not complete; a literal
  std::vector<ProcessGroup> groups;
};

// What phase 2 found.
struct ProgramFacts {
  Names names;
  References references;
  devices::AllocatorSnapshot allocator;
  PythonHeap heap;
  ProcessGroups groups;
  // Why nothing of it is known, a literal.
  void set_detail(const char* why) { names.detail = references.detail = allocator.detail = heap.detail = why; }
};

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
