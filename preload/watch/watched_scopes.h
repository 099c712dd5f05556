// SPDX-License-Identifier: Apache-2.0
// Where the operations of modules' calls are watched, and by which watches.
//
// Context: with the GIL.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "watch/module_paths.h"

namespace tensorscope::watch {

struct WatchedScope {
  std::string path;
  uint32_t module;
  std::vector<uint32_t> watches;
};

class WatchedScopes {
 public:
  explicit WatchedScopes(ModulePaths& paths) : paths_(paths) {}

  // What is watched within a call: by the watches of the call around it and by the module's own. Null: nothing.
  const WatchedScope* within(const WatchedScope* around, const WatchedModule& module) {
    return around || !module.operations.empty() ? find(around, module) : nullptr;
  }

 private:
  const WatchedScope* find(const WatchedScope* around, const WatchedModule& module);

  ModulePaths& paths_;
  // One for each module and set of watches, permanently: backward passes come later.
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, WatchedScope> scopes_;
};

}  // namespace tensorscope::watch
