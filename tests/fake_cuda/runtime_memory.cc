// The runtime's calls about memory: device, pinned and managed memory, pools, copies and fills. A copy is done when its
// call returns, whatever stream it is on. Signatures: cuda_runtime_api.h, 12.4 and 13.0.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "fake_device.h"
#include "runtime_error.h"

namespace fake_cuda {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t pages(size_t nbytes) { return (nbytes + kPage - 1) & ~(kPage - 1); }

int allocate(const char* call, void** pointer, size_t nbytes, Memory memory) {
  *pointer = nullptr;
  if (nbytes == 0) return success;
  const int device = current_device();
  if (shall_fail(call) || nbytes > capacity(device) || !take(device, pages(nbytes))) return fail(out_of_memory);
  // Not reserved: a page costs the machine something only when a program writes to it.
  void* begin =
      mmap(nullptr, pages(nbytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    give_back(device, pages(nbytes));
    return fail(out_of_memory);
  }
  add_range({static_cast<char*>(begin), nbytes, device, memory});
  *pointer = begin;
  return success;
}

int release(void* pointer) {
  if (pointer == nullptr) return success;
  const Range range = remove_range(pointer);
  if (range.memory == Memory::unknown) return fail(invalid_value);
  munmap(pointer, pages(range.size));
  give_back(range.device, pages(range.size));
  return success;
}

int allocate_pinned(const char* call, void** pointer, size_t nbytes) {
  if (shall_fail(call) || posix_memalign(pointer, kPage, nbytes ? nbytes : 1) != 0) return fail(out_of_memory);
  add_range({static_cast<char*>(*pointer), nbytes, current_device(), Memory::host});
  return success;
}

}  // namespace

FAKE_CUDA_API int cudaMalloc(void** pointer, size_t nbytes) {
  return allocate("cudaMalloc", pointer, nbytes, Memory::device);
}
FAKE_CUDA_API int cudaMallocAsync(void** pointer, size_t nbytes, void*) {
  return allocate("cudaMallocAsync", pointer, nbytes, Memory::device);
}
FAKE_CUDA_API int cudaMallocManaged(void** pointer, size_t nbytes, unsigned) {
  return allocate("cudaMallocManaged", pointer, nbytes, Memory::managed);
}
FAKE_CUDA_API int cudaFree(void* pointer) { return release(pointer); }
FAKE_CUDA_API int cudaFreeAsync(void* pointer, void*) { return release(pointer); }

FAKE_CUDA_API int cudaHostAlloc(void** pointer, size_t nbytes, unsigned) {
  return allocate_pinned("cudaHostAlloc", pointer, nbytes);
}
FAKE_CUDA_API int cudaMallocHost(void** pointer, size_t nbytes) {
  return allocate_pinned("cudaMallocHost", pointer, nbytes);
}
FAKE_CUDA_API int cudaFreeHost(void* pointer) {
  if (pointer != nullptr && remove_range(pointer).memory != Memory::host) return fail(invalid_value);
  free(pointer);
  return success;
}
FAKE_CUDA_API int cudaHostRegister(void* pointer, size_t nbytes, unsigned) {
  add_range({static_cast<char*>(pointer), nbytes, current_device(), Memory::host});
  return success;
}
FAKE_CUDA_API int cudaHostUnregister(void* pointer) {
  return remove_range(pointer).memory == Memory::host ? success : fail(invalid_value);
}
FAKE_CUDA_API int cudaHostGetDevicePointer(void** on_device, void* on_host, unsigned) {
  *on_device = on_host;
  return success;
}

FAKE_CUDA_API int cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  *free_bytes = available(current_device());
  *total = capacity(current_device());
  return success;
}

// struct cudaPointerAttributes: type, device, pointer on the device, pointer on the host, 8 words reserved
// (driver_types.h 13.0).
FAKE_CUDA_API int cudaPointerGetAttributes(void* attributes, const void* pointer) {
  struct {
    int type, device;
    const void *on_device, *on_host;
  } known = {0, -2, nullptr, nullptr};
  const Range range = find_range(pointer);
  if (range.memory != Memory::unknown) {
    known.type = int(range.memory);
    known.device = range.device;
    known.on_device = pointer;
    if (range.memory != Memory::device) known.on_host = pointer;
  }
  memcpy(attributes, &known, sizeof known);
  return success;
}

// One pool a device: what cudaMallocAsync has given out is what the device has given out.
FAKE_CUDA_API int cudaDeviceGetDefaultMemPool(void** pool, int device) {
  static char pools[kMaxDevices];
  *pool = &pools[device];
  return success;
}
FAKE_CUDA_API int cudaMemPoolGetAttribute(void*, int attribute, void* value) {
  constexpr int kFirstOfBytes = 4;  // cudaMemPoolAttrReleaseThreshold; those before it are int
  if (attribute < kFirstOfBytes) {
    *static_cast<int*>(value) = 0;
  } else {
    *static_cast<uint64_t*>(value) = taken(current_device());
  }
  return success;
}
FAKE_CUDA_API int cudaMemPoolSetAttribute(void*, int, void*) { return success; }
FAKE_CUDA_API int cudaMemPoolSetAccess(void*, const void*, size_t) { return success; }
FAKE_CUDA_API int cudaMemPoolTrimTo(void*, size_t) { return success; }
FAKE_CUDA_API int cudaDeviceGetGraphMemAttribute(int, int, void* value) {
  *static_cast<uint64_t*>(value) = 0;
  return success;
}
FAKE_CUDA_API int cudaDeviceSetGraphMemAttribute(int, int, void*) { return success; }

FAKE_CUDA_API int cudaMemcpy(void* to, const void* from, size_t nbytes, int) {
  memmove(to, from, nbytes);
  return success;
}
FAKE_CUDA_API int cudaMemcpyAsync(void* to, const void* from, size_t nbytes, int, void*) {
  memmove(to, from, nbytes);
  return success;
}
FAKE_CUDA_API int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t nbytes, void*) {
  memmove(to, from, nbytes);
  return success;
}
FAKE_CUDA_API int cudaMemcpy2DAsync(char* to, size_t to_pitch, const char* from, size_t from_pitch, size_t width,
                                    size_t height, int, void*) {
  for (size_t row = 0; row < height; ++row) memmove(to + row * to_pitch, from + row * from_pitch, width);
  return success;
}
FAKE_CUDA_API int cudaMemset(void* to, int value, size_t nbytes) {
  memset(to, value, nbytes);
  return success;
}
FAKE_CUDA_API int cudaMemsetAsync(void* to, int value, size_t nbytes, void*) {
  memset(to, value, nbytes);
  return success;
}

// Variables of device code: no code reads them, so that all are at one place and nothing is written there.
FAKE_CUDA_API int cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, int) { return success; }
FAKE_CUDA_API int cudaGetSymbolAddress(void** address, const void*) {
  static char somewhere[1 << 16];
  *address = somewhere;
  return success;
}

}  // namespace fake_cuda
