// SPDX-License-Identifier: Apache-2.0
#include "watch/watched_scopes.h"

#include <algorithm>

namespace tensorscope::watch {

const WatchedScope* WatchedScopes::find(const WatchedScope* around, const WatchedModule& module) {
  std::vector<uint32_t> watches = module.operations;
  for (const uint32_t watch : watches) paths_.mark_matched(watch);
  const auto has = [](const std::vector<uint32_t>& all, uint32_t watch) {
    return std::find(all.begin(), all.end(), watch) != all.end();
  };
  for (const uint32_t watch : around ? around->watches : std::vector<uint32_t>()) {
    if (!has(watches, watch) && !has(module.not_operations, watch)) watches.push_back(watch);
  }
  if (watches.empty()) return nullptr;
  WatchedScope& scope = scopes_[{module.path_id, watches}];
  if (scope.watches.empty()) scope = {module.path, module.path_id, std::move(watches)};
  return &scope;
}

}  // namespace tensorscope::watch
