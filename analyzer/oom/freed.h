// SPDX-License-Identifier: Apache-2.0
// Which blocks of a device's allocator become free when some tensors go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer::oom {

struct Freed {
  std::vector<uint32_t> allocations;  // all of whose storages lose all of their tensors
  uint64_t bytes = 0;                 // of these, as the allocator counts them
};

Freed freed_with(const Dump& dump, std::span<const uint32_t> tensors, Device device);

}  // namespace tensorscope::analyzer::oom
