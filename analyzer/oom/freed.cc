// SPDX-License-Identifier: Apache-2.0
#include "oom/freed.h"

#include <algorithm>
#include <span>

namespace tensorscope::analyzer::oom {

Freed freed_with(const Dump& dump, std::span<const uint32_t> tensors, Device device) {
  std::vector<bool> goes(dump.tensors.size()), seen(dump.allocations.size());
  for (uint32_t tensor : tensors) goes[tensor] = true;
  Freed freed;
  for (uint32_t tensor : tensors) {
    const uint32_t storage = dump.tensors[tensor].storage;
    const uint32_t index = storage == kNone ? kNone : dump.storages[storage].allocation;
    if (index == kNone || seen[index] || dump.allocations[index].device != device) continue;
    seen[index] = true;
    const std::span<const uint32_t> storages = dump.allocations[index].storages;
    const bool all = std::all_of(storages.begin(), storages.end(), [&](uint32_t other) {
      const std::span<const uint32_t> users = dump.storages[other].tensors;
      return std::all_of(users.begin(), users.end(), [&](uint32_t user) { return goes[user]; });
    });
    if (!all) continue;
    freed.allocations.push_back(index);
    freed.bytes += dump.allocations[index].nbytes;
  }
  return freed;
}

}  // namespace tensorscope::analyzer::oom
