// SPDX-License-Identifier: Apache-2.0
// The runtime's calls about memory: device, pinned and managed memory, pools, copies and fills. A copy is done when its
// call returns, whatever stream it is on. Signatures: cuda_runtime_api.h, 12.4 and 13.0.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "activity.h"
#include "fake_device.h"
#include "runtime_error.h"

namespace fake_cuda {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t pages(size_t nbytes) { return (nbytes + kPage - 1) & ~(kPage - 1); }

// As the real runtime, this one holds a descriptor of the device from the first allocation on, and asks the device
// through it: a thread with another descriptor table would ask whatever has that number there. It is out of the way of
// the numbers that tests compare.
int open_device_file() {
  constexpr int kRarelyUsed = 900;
  const int file = open("/dev/zero", O_RDWR | O_CLOEXEC);
  const int moved = fcntl(file, F_DUPFD_CLOEXEC, kRarelyUsed);
  close(file);
  return moved;
}
int device_file() {
  static const int file = open_device_file();
  return file;
}
bool device_answers() {
  struct stat device, ours;
  return stat("/dev/zero", &device) == 0 && fstat(device_file(), &ours) == 0 && ours.st_rdev == device.st_rdev;
}

// As CUPTI numbers them (CUpti_ActivityMemoryKind).
int activity_kind(Memory memory) { return memory == Memory::host ? 2 : memory == Memory::managed ? 5 : 3; }

int allocate(const Call& call, const char* name, void** pointer, size_t nbytes, Memory memory,
             bool asynchronous = false) {
  *pointer = nullptr;
  if (nbytes == 0) return success;
  const int device = current_device();
  device_file();
  if (shall_fail(name) || nbytes > capacity(device) || !take(device, pages(nbytes))) return fail(out_of_memory);
  // Not reserved: a page costs the machine something only when a program writes to it.
  void* begin =
      mmap(nullptr, pages(nbytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    give_back(device, pages(nbytes));
    return fail(out_of_memory);
  }
  add_range({static_cast<char*>(begin), nbytes, device, memory});
  *pointer = begin;
  call.allocated(begin, nbytes, activity_kind(memory), asynchronous);
  return success;
}

int release(const Call& call, void* pointer, bool asynchronous = false) {
  if (pointer == nullptr) return success;
  const Range range = remove_range(pointer);
  if (range.memory == Memory::unknown) return fail(invalid_value);
  call.released(pointer, range.size, activity_kind(range.memory), asynchronous);
  munmap(pointer, pages(range.size));
  give_back(range.device, pages(range.size));
  return success;
}

int allocate_pinned(const Call& call, const char* name, void** pointer, size_t nbytes) {
  if (shall_fail(name) || posix_memalign(pointer, kPage, nbytes ? nbytes : 1) != 0) return fail(out_of_memory);
  add_range({static_cast<char*>(*pointer), nbytes, current_device(), Memory::host});
  call.allocated(*pointer, nbytes, activity_kind(Memory::host), false);
  return success;
}

}  // namespace

FAKE_CUDA_API int cudaMalloc(void** pointer, size_t nbytes) {
  FAKE_CUDA_CALL(cudaMalloc);
  return allocate(call, "cudaMalloc", pointer, nbytes, Memory::device);
}
FAKE_CUDA_API int cudaMallocAsync(void** pointer, size_t nbytes, void*) {
  FAKE_CUDA_CALL(cudaMallocAsync);
  return allocate(call, "cudaMallocAsync", pointer, nbytes, Memory::device, true);
}
FAKE_CUDA_API int cudaMallocManaged(void** pointer, size_t nbytes, unsigned) {
  FAKE_CUDA_CALL(cudaMallocManaged);
  return allocate(call, "cudaMallocManaged", pointer, nbytes, Memory::managed);
}
FAKE_CUDA_API int cudaFree(void* pointer) {
  FAKE_CUDA_CALL(cudaFree);
  return release(call, pointer);
}
FAKE_CUDA_API int cudaFreeAsync(void* pointer, void*) {
  FAKE_CUDA_CALL(cudaFreeAsync);
  return release(call, pointer, true);
}

FAKE_CUDA_API int cudaHostAlloc(void** pointer, size_t nbytes, unsigned) {
  FAKE_CUDA_CALL(cudaHostAlloc);
  return allocate_pinned(call, "cudaHostAlloc", pointer, nbytes);
}
FAKE_CUDA_API int cudaMallocHost(void** pointer, size_t nbytes) {
  FAKE_CUDA_CALL(cudaMallocHost);
  return allocate_pinned(call, "cudaMallocHost", pointer, nbytes);
}
FAKE_CUDA_API int cudaFreeHost(void* pointer) {
  FAKE_CUDA_CALL(cudaFreeHost);
  if (pointer == nullptr) return success;
  const Range range = remove_range(pointer);
  if (range.memory != Memory::host) return fail(invalid_value);
  call.released(pointer, range.size, activity_kind(range.memory), false);
  free(pointer);
  return success;
}
FAKE_CUDA_API int cudaHostRegister(void* pointer, size_t nbytes, unsigned) {
  FAKE_CUDA_CALL(cudaHostRegister);
  add_range({static_cast<char*>(pointer), nbytes, current_device(), Memory::host});
  call.allocated(pointer, nbytes, activity_kind(Memory::host), false);
  return success;
}
FAKE_CUDA_API int cudaHostUnregister(void* pointer) {
  FAKE_CUDA_CALL(cudaHostUnregister);
  const Range range = remove_range(pointer);
  if (range.memory != Memory::host) return fail(invalid_value);
  call.released(pointer, range.size, activity_kind(range.memory), false);
  return success;
}
FAKE_CUDA_API int cudaHostGetDevicePointer(void** on_device, void* on_host, unsigned) {
  *on_device = on_host;
  return success;
}

FAKE_CUDA_API int cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  if (!device_answers()) return fail(invalid_device);
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

// One pool a device: what cudaMallocAsync allocated is allocated on the device.
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

FAKE_CUDA_API int cudaMemcpy(void* to, const void* from, size_t nbytes, int kind) {
  FAKE_CUDA_CALL(cudaMemcpy);
  call.copied(kind, nbytes);
  memmove(to, from, nbytes);
  return success;
}
FAKE_CUDA_API int cudaMemcpyAsync(void* to, const void* from, size_t nbytes, int kind, void*) {
  FAKE_CUDA_CALL(cudaMemcpyAsync);
  call.copied(kind, nbytes);
  memmove(to, from, nbytes);
  return success;
}
FAKE_CUDA_API int cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t nbytes, void*) {
  FAKE_CUDA_CALL(cudaMemcpyPeerAsync);
  call.copied(3, nbytes);
  memmove(to, from, nbytes);
  return success;
}
FAKE_CUDA_API int cudaMemcpy2DAsync(char* to, size_t to_pitch, const char* from, size_t from_pitch, size_t width,
                                    size_t height, int kind, void*) {
  FAKE_CUDA_CALL(cudaMemcpy2DAsync);
  call.copied(kind, width * height);
  for (size_t row = 0; row < height; ++row) memmove(to + row * to_pitch, from + row * from_pitch, width);
  return success;
}
FAKE_CUDA_API int cudaMemset(void* to, int value, size_t nbytes) {
  FAKE_CUDA_CALL(cudaMemset);
  call.filled(nbytes);
  memset(to, value, nbytes);
  return success;
}
FAKE_CUDA_API int cudaMemsetAsync(void* to, int value, size_t nbytes, void*) {
  FAKE_CUDA_CALL(cudaMemsetAsync);
  call.filled(nbytes);
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
