// SPDX-License-Identifier: Apache-2.0
// The answers of libnccl that torch looks at, for a group of one rank: a collective is a copy. Signatures: nccl.h 2.
#include <cstdlib>
#include <cstring>

#include "fake_device.h"

namespace {

// ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16.
constexpr size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

int copy(const void* from, void* to, size_t count, int type) {
  if (from && to) memmove(to, from, count * kSizes[type]);  // a rank that is not the root may give no place
  return 0;
}

int make(void** communicator) {
  *communicator = calloc(1, 256);
  return 0;
}

}  // namespace

FAKE_CUDA_API int ncclGetVersion(int* version) {
  *version = 23007;
  return 0;
}
FAKE_CUDA_API int ncclGetUniqueId(char* id) {
  id[0] = 1;
  return 0;
}
FAKE_CUDA_API int ncclCommInitRank(void** communicator) { return make(communicator); }
FAKE_CUDA_API int ncclCommInitRankConfig(void** communicator) { return make(communicator); }
FAKE_CUDA_API int ncclCommInitRankScalable(void** communicator) { return make(communicator); }
FAKE_CUDA_API int ncclCommCount(void*, int* count) {
  *count = 1;
  return 0;
}
FAKE_CUDA_API int ncclCommUserRank(void*, int* rank) { return *rank = 0; }
FAKE_CUDA_API int ncclCommCuDevice(void*, int* device) { return *device = 0; }
FAKE_CUDA_API int ncclCommGetAsyncError(void*, int* error) { return *error = 0; }
FAKE_CUDA_API int ncclAllReduce(const void* from, void* to, size_t count, int type) {
  return copy(from, to, count, type);
}
FAKE_CUDA_API int ncclBroadcast(const void* from, void* to, size_t count, int type) {
  return copy(from, to, count, type);
}
FAKE_CUDA_API int ncclReduce(const void* from, void* to, size_t count, int type) { return copy(from, to, count, type); }
FAKE_CUDA_API int ncclAllGather(const void* from, void* to, size_t count, int type) {
  return copy(from, to, count, type);
}
FAKE_CUDA_API int ncclReduceScatter(const void* from, void* to, size_t count, int type) {
  return copy(from, to, count, type);
}
