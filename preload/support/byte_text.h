// Bytes as a person reads them: 1.42 GiB, 312.0 KiB, 17 B.
//
// Context: any but signal handlers. No malloc.
#pragma once

#include <stdio.h>

#include <cstddef>
#include <cstdint>

namespace tensorscope {

struct ByteText {
  char text[32];
  explicit ByteText(uint64_t bytes) {
    constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = double(bytes);
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof(kUnits) / sizeof(*kUnits)) {
      value /= 1024;
      ++unit;
    }
    snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : value < 10 ? "%.2f %s" : "%.1f %s", value, kUnits[unit]);
  }
};

}  // namespace tensorscope
