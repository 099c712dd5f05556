// SPDX-License-Identifier: Apache-2.0
// Bytes of one element of a c10::ScalarType (torch/headeronly/core/ScalarType.h, 2.13), 0: not known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorscope::rules {

constexpr int element_size(int dtype) {
  constexpr int8_t kSizes[] = {
      1, 1, 2,  4, 8, 2, 4, 8,  // uint8, int8, int16, int32, int64, half, float, double
      4, 8, 16, 1, 1, 1, 4, 2,  // complex half, float, double; bool; qint8, quint8, qint32; bfloat16
      1, 1, 1,  1, 1, 1, 2,     // quint4x2, quint2x4, bits1x8, bits2x4, bits4x2, bits8, bits16
      1, 1, 1,  1, 2, 4, 8,     // float8: e5m2, e4m3fn, e5m2fnuz, e4m3fnuz; uint16, uint32, uint64
      1, 1, 1,  1, 1, 1, 1,     // uint1 to uint7
      1, 1, 1,  1, 1, 1, 1,     // int1 to int7
      1, 1,                     // float8_e8m0fnu, float4_e2m1fn_x2
  };
  return dtype >= 0 && size_t(dtype) < sizeof(kSizes) ? kSizes[dtype] : 0;
}

}  // namespace tensorscope::rules
