// SPDX-License-Identifier: Apache-2.0
// The answer of libcublasLt that torch looks at: there is one algorithm. Signature: cublasLt.h 13.0.
#include "fake_device.h"

FAKE_CUDA_API int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void*,
                                                 int* found) {
  *found = 1;
  return 0;
}
