// SPDX-License-Identifier: Apache-2.0
// Which memory something lies in, as PyTorch numbers devices.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tensorscope::analyzer {

inline constexpr uint32_t kNone = UINT32_MAX;

struct Device {
  int8_t type = -1;
  int8_t index = -1;
  auto operator<=>(const Device&) const = default;
  std::string text() const;  // "cpu", "cuda:0", "meta", "unknown"
  bool is_cpu() const { return type == 0; }
};

inline constexpr Device kHost = {0, -1};

// As a dump writes it. The CPU has no index, though torch::Device("cpu:0") can be written.
constexpr Device device_of(int8_t type, int8_t index) { return {type, type == 0 ? int8_t(-1) : index}; }

}  // namespace tensorscope::analyzer
