// SPDX-License-Identifier: Apache-2.0
// The driver's calls (libcuda.so.1) that torch makes: devices, contexts, pointers, and virtual memory, on which
// expandable segments are built. Other names are generated and answer "not supported". Signatures and numbers:
// cuda.h 13.0.
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "activity.h"
#include "fake_device.h"

#ifndef FAKE_CUDA_VERSION
#define FAKE_CUDA_VERSION 13000
#endif

namespace fake_cuda {

namespace {

constexpr size_t kGranularity = size_t{2} << 20;
constexpr int kDeviceMemory = 3;  // CUpti_ActivityMemoryKind

// Physical memory: CUmemGenericAllocationHandle. It lives until its owner and every mapping have released it.
struct Physical {
  size_t nbytes;
  int device;
  std::atomic<int> references;
};

void drop(Physical* physical) {
  if (physical->references.fetch_sub(1) > 1) return;
  give_back(physical->device, physical->nbytes);
  delete physical;
}

struct Mappings {
  std::mutex mutex;
  std::map<void*, Physical*> by_begin;
};
Mappings& mappings() {
  static Mappings& all = *new Mappings;  // never destroyed
  return all;
}

void* context_of(int device) { return reinterpret_cast<void*>(intptr_t{1} + device); }

}  // namespace

FAKE_CUDA_API int cuInit(unsigned) { return device_count() ? success : no_device; }
FAKE_CUDA_API int cuDriverGetVersion(int* version) {
  *version = FAKE_CUDA_VERSION;
  return success;
}
FAKE_CUDA_API int cuGetErrorString(int error, const char** text) {
  *text = error == success ? "no error" : error == out_of_memory ? "out of memory" : "unknown error";
  return success;
}

FAKE_CUDA_API int cuDeviceGetCount(int* count) {
  *count = device_count();
  return success;
}
FAKE_CUDA_API int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < device_count() ? success : invalid_device;
}
FAKE_CUDA_API int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 10:
      *value = 32;
      break;  // threads of a warp
    case 16:
      *value = 108;
      break;  // multiprocessors
    case 39:
      *value = 2048;
      break;  // threads of a multiprocessor
    case 75:
      *value = 8;
      break;   // compute capability
    case 102:  // virtual memory
    case 103:  // handles as file descriptors
    case 115:
      *value = 1;
      break;  // memory pools
    default:
      *value = 0;
  }
  return success;
}

FAKE_CUDA_API int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return success;
}
FAKE_CUDA_API int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = context_of(device);
  return success;
}
FAKE_CUDA_API int cuCtxGetCurrent(void** context) {
  *context = context_of(current_device());
  return success;
}
FAKE_CUDA_API int cuCtxSetCurrent(void*) { return success; }

// Memory that no call of the runtime gives out: what a library takes straight from the driver.
FAKE_CUDA_API int cuMemAlloc_v2(void** pointer, size_t nbytes) {
  const Call call(Api::driver, CallId::cuMemAlloc_v2, "cuMemAlloc_v2");
  const int device = current_device();
  if (nbytes == 0) return invalid_value;
  if (shall_fail("cuMemAlloc_v2") || !take(device, nbytes)) return out_of_memory;
  void* begin = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    give_back(device, nbytes);
    return out_of_memory;
  }
  add_range({static_cast<char*>(begin), nbytes, device, Memory::device});
  *pointer = begin;
  call.allocated(begin, nbytes, kDeviceMemory, false);
  return success;
}
FAKE_CUDA_API int cuMemFree_v2(void* pointer) {
  const Call call(Api::driver, CallId::cuMemFree_v2, "cuMemFree_v2");
  const Range range = remove_range(pointer);
  if (range.memory == Memory::unknown) return invalid_value;
  call.released(pointer, range.size, kDeviceMemory, false);
  munmap(pointer, range.size);
  give_back(range.device, range.size);
  return success;
}
FAKE_CUDA_API int cuLaunchKernel() {
  const Call call(Api::driver, CallId::cuLaunchKernel, "cuLaunchKernel");
  call.launched();
  return success;
}

FAKE_CUDA_API int cuMemGetAllocationGranularity(size_t* nbytes, const void*, int) {
  *nbytes = kGranularity;
  return success;
}
// struct CUmemAllocationProp: type, handle types, location type, location id, all int.
FAKE_CUDA_API int cuMemCreate(Physical** handle, size_t nbytes, const int* properties, unsigned long long) {
  const struct {
    Physical** handle;
    size_t nbytes;
    const int* properties;
    unsigned long long flags;
  } parameters = {handle, nbytes, properties, 0};
  Call call(Api::driver, CallId::cuMemCreate, "cuMemCreate", &parameters);
  const int device = properties[3];
  if (shall_fail("cuMemCreate") || !take(device, nbytes)) return call.returns(out_of_memory);
  *handle = new Physical{nbytes, device, 1};
  return success;
}
FAKE_CUDA_API int cuMemRelease(Physical* handle) {
  const Call call(Api::driver, CallId::cuMemRelease, "cuMemRelease", &handle);
  drop(handle);
  return success;
}
FAKE_CUDA_API int cuMemAddressReserve(void** begin, size_t nbytes, size_t, void*, unsigned long long) {
  void* const place =
      mmap(nullptr, nbytes + kGranularity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return out_of_memory;
  auto* const all = static_cast<char*>(place);
  const uintptr_t over = reinterpret_cast<uintptr_t>(all) % kGranularity;
  const size_t before = over ? kGranularity - over : 0;
  if (before) munmap(all, before);
  if (before < kGranularity) munmap(all + before + nbytes, kGranularity - before);
  *begin = all + before;
  return success;
}
FAKE_CUDA_API int cuMemAddressFree(void* begin, size_t nbytes) {
  return munmap(begin, nbytes) == 0 ? success : invalid_value;
}
FAKE_CUDA_API int cuMemMap(void* begin, size_t nbytes, size_t, Physical* handle, unsigned long long) {
  const struct {
    void* begin;
    size_t nbytes, offset;
    Physical* handle;
    unsigned long long flags;
  } parameters = {begin, nbytes, 0, handle, 0};
  Call call(Api::driver, CallId::cuMemMap, "cuMemMap", &parameters);
  if (mprotect(begin, nbytes, PROT_READ | PROT_WRITE) != 0) return call.returns(invalid_value);
  handle->references.fetch_add(1);
  std::lock_guard lock(mappings().mutex);
  mappings().by_begin[begin] = handle;
  add_range({static_cast<char*>(begin), nbytes, handle->device, Memory::device});
  return success;
}
FAKE_CUDA_API int cuMemUnmap(void* begin, size_t nbytes) {
  const struct {
    void* begin;
    size_t nbytes;
  } parameters = {begin, nbytes};
  Call call(Api::driver, CallId::cuMemUnmap, "cuMemUnmap", &parameters);
  Physical* handle = nullptr;
  {
    std::lock_guard lock(mappings().mutex);
    const auto found = mappings().by_begin.find(begin);
    if (found == mappings().by_begin.end()) return call.returns(invalid_value);
    handle = found->second;
    mappings().by_begin.erase(found);
  }
  remove_range(begin);
  madvise(begin, nbytes, MADV_DONTNEED);
  mprotect(begin, nbytes, PROT_NONE);
  drop(handle);
  return success;
}
FAKE_CUDA_API int cuMemSetAccess(void*, size_t, const void*, size_t) { return success; }

FAKE_CUDA_API int cuMemGetAddressRange_v2(void** begin, size_t* nbytes, void* inside) {
  const Range range = find_range(inside);
  if (range.memory == Memory::unknown) return invalid_value;
  if (begin) *begin = range.begin;
  if (nbytes) *nbytes = range.size;
  return success;
}
FAKE_CUDA_API int cuMemGetAddressRange(void** begin, size_t* nbytes, void* inside) {
  return cuMemGetAddressRange_v2(begin, nbytes, inside);
}
FAKE_CUDA_API int cuPointerGetAttribute(void* value, int attribute, void* pointer) {
  constexpr int kMemoryType = 2;
  const uint64_t nothing = 0;
  if (attribute == kMemoryType) {
    const int type = int(find_range(pointer).memory == Memory::device ? Memory::device : Memory::host);
    memcpy(value, &type, sizeof type);
  } else {
    memcpy(value, &nothing, sizeof nothing);
  }
  return success;
}
FAKE_CUDA_API int cuMemsetD32Async(uint32_t* to, uint32_t value, size_t count, void*) {
  for (size_t i = 0; i < count; ++i) to[i] = value;
  return success;
}
FAKE_CUDA_API int cuStreamWriteValue32(void*, uint32_t* to, uint32_t value, unsigned) {
  *to = value;
  return success;
}

}  // namespace fake_cuda
