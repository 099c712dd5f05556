// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as chunks: {type, length, payload}, the last payload as long as there are bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tensorscope::testing {

// take(type, payload, length) for each.
template <typename Take>
void cut_chunks(const uint8_t* data, size_t size, Take take) {
  while (size >= 8) {
    uint32_t type, length;
    std::memcpy(&type, data, 4);
    std::memcpy(&length, data + 4, 4);
    data += 8;
    size -= 8;
    length = uint32_t(std::min<size_t>(length, size));
    take(type, data, size_t{length});
    data += length;
    size -= length;
  }
}

}  // namespace tensorscope::testing
