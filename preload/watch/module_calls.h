// The calls of the program's torch.nn modules (python/module_entry.h), and the steps of its optimizers: what is watched
// is taken as a call ends, and each call can be a row of its own.
//
// Context: as named.
#pragma once

#include <string>
#include <vector>

#include "python/interpreter.h"
#include "tensorscope/rules/watch_spec.h"
#include "values_file/value_store.h"
#include "watch/taken_tensors.h"

namespace tensorscope::watch {

struct WatchedModule;

struct CallSettings {
  std::vector<rules::WatchSpec> watches;
  bool record_calls = false;
};

// Once, before register_hooks(). Context: activation.
void start_module_calls(CallSettings settings);

// From now on calls are seen, and hooks of torch.optim tell the steps. False: torch.nn has not been imported whole yet;
// ask again. Context: with the GIL.
bool register_hooks(const python::Gil& gil);

bool has_module_calls();

// The module call that is running in this thread, and the program's line. Context: with the GIL, under an InsideScope.
Origin here();

// The module call that an operation belongs to, and the watches that want it: the innermost call of this thread; in a
// backward pass, the one whose forward made the node that runs.
struct WatchedOperations {
  const std::vector<uint32_t>* watches = nullptr;
  const std::vector<rules::WatchSpec>* specs = nullptr;
  const char* path = "";
  uint64_t call = 0;
  uint32_t module = 0;
  bool backward = false;
  const void* node = nullptr;  // backward: the node that runs
};
// False: none. `path` and `watches` are valid for good. Context: an operation of torch in this thread, under a
// HookScope.
bool watched_operations(WatchedOperations& out);

// For values of source code (code_points.h). The watches: any context. The rest: with the GIL.
const std::vector<rules::WatchSpec>& all_watches();
void mark_watch_matched(uint32_t watch);
const WatchedModule* module_of(const python::Gil& gil, python::Object* module);  // may look at the whole program
struct RunningCall {
  uint64_t id = 0;
  uint32_t path_id = 0;  // of the module
};
RunningCall running_call();  // the innermost of this thread

// Calls that are still running become rows. Context: the thread that ends the program.
void end_running_calls();
std::vector<UnmatchedWatch> unmatched_watches();

}  // namespace tensorscope::watch
