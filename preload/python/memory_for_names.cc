// SPDX-License-Identifier: Apache-2.0
#include "python/memory_for_names.h"

#include <algorithm>

namespace tensorscope::python {

namespace {

constexpr uint64_t kUnknown = uint64_t{1} << 30;  // where the system reports no limit

// Under a control group and on the machine others take memory at the same time, and too much is the program's end. What
// is mapped beyond the process's own limits fails, and is given back after the dump.
constexpr uint64_t kShareOfShared = 4, kShareOfOwn = 2;

}  // namespace

uint64_t memory_for_names(const SystemMemory& system, uint64_t at_most) {
  uint64_t least = UINT64_MAX;
  const auto share_of = [&](const LimitState& limit, uint64_t share) {
    if (limit.is_set()) least = std::min(least, limit.left / share);
  };
  share_of(system.cgroup, kShareOfShared);
  share_of(system.machine, kShareOfShared);
  share_of(system.address_space, kShareOfOwn);
  share_of(system.data, kShareOfOwn);
  if (least == UINT64_MAX) least = kUnknown;
  return at_most == 0 ? least : std::min(least, at_most);
}

}  // namespace tensorscope::python
