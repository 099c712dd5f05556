// SPDX-License-Identifier: Apache-2.0
// Values that made-up dumps use again and again.
#pragma once

#include <cstdint>
#include <string>

namespace tensorscope::testing {

inline constexpr uint64_t kKiB = uint64_t{1} << 10, kMiB = uint64_t{1} << 20;  // bytes
inline constexpr uint64_t kSecond = 1'000'000'000;                             // ns
inline const std::string kTorch = "/usr/lib/python3.11/site-packages/torch/";

// The class of a generated autograd node as the C++ ABI writes it: "AddBackward0" -> "N5torch8autograd...E".
inline std::string mangled(const std::string& node) {
  return "N5torch8autograd9generated" + std::to_string(node.size()) + node + "E";
}

}  // namespace tensorscope::testing
