// SPDX-License-Identifier: Apache-2.0
// What is watched of the calls of modules (torch_events/module_calls.h): their inputs and outputs, parameters, buffers,
// gradients and optimizer state, and which watches want the operations within a call.
//
// Context: as named.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/interpreter.h"
#include "tensorscope/rules/watch_spec.h"
#include "watch/tensor_capture.h"

namespace tensorscope::watch {

struct WatchedModule;

// Once, before register_hooks(). Context: activation, or with the GIL.
void start_watched_calls(std::vector<rules::WatchSpec> watches, bool record_calls);

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
// False: none. `path` and `watches` are valid permanently. Context: an operation of torch in this thread, under a
// HookScope.
bool watched_operations(WatchedOperations& out);

// For values of source code (variables/variable_watch.h). The watches: any context. The rest: with the GIL.
const std::vector<rules::WatchSpec>& all_watches();
void mark_watch_matched(uint32_t watch);
const WatchedModule* module_of(const python::Gil& gil, python::Object* module);  // may look at the whole program

// Whether anything has matched it, and if not, the paths of modules that are the nearest to its own. Context: the
// thread that ends the program.
bool is_watch_matched(uint32_t watch);
std::vector<std::string> nearest_paths(const std::string& path);

}  // namespace tensorscope::watch
