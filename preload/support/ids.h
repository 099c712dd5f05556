// SPDX-License-Identifier: Apache-2.0
// The small numbers by which the tables refer to each other.
//
// Context: any: types alone.
#pragma once

#include <cstdint>

namespace tensorscope {

using Serial = uint64_t;    // one for every tensor, allocation and node ever made, in order; never reused, starts at 1
using SiteId = uint32_t;    // index into SiteTable: one (native stack, Python stack) pair; 0: no stack
using StackId = uint32_t;   // index of a stack's innermost frame in its trie; 0: none
using ThreadId = uint32_t;  // index into ThreadTable; 0: unknown

// As c10::Device packs itself: type in the low byte, index in the next (c10/core/Device.h, 1.13 to 2.14).
struct Device {
  int8_t type = 0;  // c10::DeviceType: 0 CPU, 1 CUDA, ...
  int8_t index = -1;
};

}  // namespace tensorscope
