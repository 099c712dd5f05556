// SPDX-License-Identifier: Apache-2.0
// Torch's dtypes: c10::ScalarType (torch/headeronly/core/ScalarType.h, 2.13). Codes are never reused.
//
// Context: any.
#pragma once

#include <cstddef>

namespace tensorscope::rules {

enum Dtype : int {
  kUint8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
  kComplex32 = 8,
  kComplex64 = 9,
  kComplex128 = 10,
  kBool = 11,
  kBfloat16 = 15,
  kFloat8E5M2 = 23,
  kFloat8E4M3 = 24,
  kFloat8E5M2Fnuz = 25,
  kFloat8E4M3Fnuz = 26,
  kUint16 = 27,
  kUint32 = 28,
  kUint64 = 29,
  kFloat8E8M0 = 44,
};

// Python's name (torch/csrc/utils/tensor_dtypes.cpp); "" for a code that is not known.
constexpr const char* dtype_name(int dtype) {
  constexpr const char* kNames[] = {"uint8",
                                    "int8",
                                    "int16",
                                    "int32",
                                    "int64",
                                    "float16",
                                    "float32",
                                    "float64",
                                    "complex32",
                                    "complex64",
                                    "complex128",
                                    "bool",
                                    "qint8",
                                    "quint8",
                                    "qint32",
                                    "bfloat16",
                                    "quint4x2",
                                    "quint2x4",
                                    "bits1x8",
                                    "bits2x4",
                                    "bits4x2",
                                    "bits8",
                                    "bits16",
                                    "float8_e5m2",
                                    "float8_e4m3fn",
                                    "float8_e5m2fnuz",
                                    "float8_e4m3fnuz",
                                    "uint16",
                                    "uint32",
                                    "uint64",
                                    "uint1",
                                    "uint2",
                                    "uint3",
                                    "uint4",
                                    "uint5",
                                    "uint6",
                                    "uint7",
                                    "int1",
                                    "int2",
                                    "int3",
                                    "int4",
                                    "int5",
                                    "int6",
                                    "int7",
                                    "float8_e8m0fnu",
                                    "float4_e2m1fn_x2"};
  return dtype >= 0 && size_t(dtype) < sizeof kNames / sizeof *kNames ? kNames[dtype] : "";
}

}  // namespace tensorscope::rules
