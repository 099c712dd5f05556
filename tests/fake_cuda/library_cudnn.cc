// SPDX-License-Identifier: Apache-2.0
// The answers of libcudnn that torch looks at: one engine for everything, which needs no workspace. A size that is not
// written would be an absurd allocation. Signatures: cudnn_graph.h, cudnn_ops.h, cudnn_cnn.h and cudnn_adv.h of
// cuDNN 9.
#include <cstdlib>

#include "fake_device.h"

namespace {

constexpr size_t kVersion = 92400;  // torch refuses one older than it was built with
constexpr size_t kSomeBytes = 4096;

}  // namespace

FAKE_CUDA_API size_t cudnnGetVersion() { return kVersion; }
FAKE_CUDA_API size_t cudnnGetCudartVersion() { return 13000; }
FAKE_CUDA_API int cudnnGetProperty(int property, int* value) {
  *value = property == 0 ? 9 : property == 1 ? 24 : 0;  // major, minor, patch
  return 0;
}
FAKE_CUDA_API int cudnnBackendCreateDescriptor(int, void** descriptor) {
  *descriptor = calloc(1, 256);
  return 0;
}
// Lists of descriptors (type 15) have one element; numbers (type 3) are 0; lists of notes and everything else are
// empty.
FAKE_CUDA_API int cudnnBackendGetAttribute(void*, int, int type, int64_t room, int64_t* count, int64_t* out) {
  constexpr int kNumber = 3, kDescriptor = 15;
  if (count) *count = type == kDescriptor || type == kNumber;
  if (type == kNumber && out && room > 0) *out = 0;
  return 0;
}

FAKE_CUDA_API int cudnnGetConvolutionForwardWorkspaceSize(void*, void*, void*, void*, void*, int, size_t* nbytes) {
  return *nbytes = 0;
}
FAKE_CUDA_API int cudnnGetConvolutionBackwardDataWorkspaceSize(void*, void*, void*, void*, void*, int, size_t* nbytes) {
  return *nbytes = 0;
}
FAKE_CUDA_API int cudnnGetConvolutionBackwardFilterWorkspaceSize(void*, void*, void*, void*, void*, int,
                                                                 size_t* nbytes) {
  return *nbytes = 0;
}
FAKE_CUDA_API int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void*, int, int, void*, void*, void*, void*,
                                                                           void*, size_t* nbytes) {
  return *nbytes = 0;
}
FAKE_CUDA_API int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void*, int, int, void*, void*, void*, void*, void*,
                                                                    void*, void*, size_t* nbytes) {
  return *nbytes = 0;
}
FAKE_CUDA_API int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void*, int, int, void*, void*, size_t* nbytes) {
  return *nbytes = 0;
}
FAKE_CUDA_API int cudnnDropoutGetStatesSize(void*, size_t* nbytes) {
  *nbytes = kSomeBytes;
  return 0;
}
FAKE_CUDA_API int cudnnGetRNNWeightSpaceSize(void*, void*, size_t* nbytes) {
  *nbytes = kSomeBytes;
  return 0;
}
FAKE_CUDA_API int cudnnGetRNNTempSpaceSizes(void*, void*, int, void*, size_t* workspace, size_t* reserve) {
  if (workspace) *workspace = kSomeBytes;
  if (reserve) *reserve = kSomeBytes;
  return 0;
}
