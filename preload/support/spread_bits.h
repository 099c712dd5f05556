// SPDX-License-Identifier: Apache-2.0
// The hash of the preload's tables.
//
// Context: any.
#pragma once

#include <cstdint>

namespace tensorscope {

// 2^64 divided by the golden ratio: Fibonacci hashing.
inline constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15u;

// The high bits of the product depend on all bits of the key.
constexpr uint64_t spread_bits(uint64_t key) { return key * kGoldenRatio; }

}  // namespace tensorscope
