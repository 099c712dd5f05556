// Numbers of torch's dtypes: c10::ScalarType (torch/headeronly/core/ScalarType.h, 2.13).
//
// Context: any.
#pragma once

namespace tensorscope::watch {

enum Dtype : int {
  kUint8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kHalf = 5,
  kFloat = 6,
  kDouble = 7,
  kComplexHalf = 8,
  kComplexFloat = 9,
  kComplexDouble = 10,
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

}  // namespace tensorscope::watch
