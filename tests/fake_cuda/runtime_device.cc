// SPDX-License-Identifier: Apache-2.0
// The runtime's calls about devices, errors, versions and the way to the driver. Signatures, numbers and the layout of
// cudaDeviceProp: cuda_runtime_api.h and driver_types.h, 12.4 and 13.0.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "fake_device.h"
#include "runtime_error.h"

// A machine with CUDA 12 wheels gives 12040 (set by make_libraries.py).
#ifndef FAKE_CUDA_VERSION
#define FAKE_CUDA_VERSION 13000
#endif

namespace fake_cuda {

namespace {

thread_local int t_last_error = success;

// What the double says of a device: an A100's limits, the capacity apart.
constexpr int kMultiprocessors = 108, kWarp = 32, kThreadsPerBlock = 1024, kThreadsPerMultiprocessor = 2048;
constexpr int kMajor = 8, kMinor = 0, kL2 = 40 << 20, kRegisters = 65536, kBlocksPerMultiprocessor = 32;
constexpr size_t kSharedPerBlock = 49152, kSharedPerMultiprocessor = 167936, kSharedOptin = 166912;

// Where the fields of one version's cudaDeviceProp lie. torch divides by some: none of those may stay zero.
struct Layout {
  size_t size;
  size_t pci_bus, multiprocessors, l2, threads_per_multiprocessor, shared_per_multiprocessor,
      registers_per_multiprocessor, cooperative, shared_optin;
};
constexpr Layout kLayout13 = {1008, 568, 384, 596, 604, 624, 632, 668, 672};
constexpr Layout kLayout12 = {1032, 584, 388, 616, 624, 640, 648, 688, 696};

template <typename Value>
void put(char* properties, size_t offset, Value value) {
  memcpy(properties + offset, &value, sizeof value);
}

int fill_properties(char* properties, int device, const Layout& layout) {
  if (device < 0 || device >= device_count()) return fail(invalid_device);
  memset(properties, 0, layout.size);
  snprintf(properties, 256, "tensorscope fake device");
  properties[256] = char(1 + device);  // uuid
  put(properties, 288, capacity(device));
  put(properties, 296, kSharedPerBlock);
  put(properties, 304, kRegisters);
  put(properties, 308, kWarp);
  put(properties, 312, size_t{0x7fffffff});  // memPitch
  put(properties, 320, kThreadsPerBlock);
  const int largest_block_and_grid[] = {1024, 1024, 64, 0x7fffffff, 65535, 65535};
  memcpy(properties + 324, largest_block_and_grid, sizeof largest_block_and_grid);
  put(properties, 352, size_t{65536});  // totalConstMem
  put(properties, 360, kMajor);
  put(properties, 364, kMinor);
  put(properties, 368, size_t{512});  // textureAlignment
  put(properties, 376, size_t{32});   // texturePitchAlignment
  put(properties, layout.multiprocessors, kMultiprocessors);
  put(properties, layout.pci_bus, 1 + device);
  put(properties, layout.l2, kL2);
  put(properties, layout.threads_per_multiprocessor, kThreadsPerMultiprocessor);
  put(properties, layout.shared_per_multiprocessor, kSharedPerMultiprocessor);
  put(properties, layout.registers_per_multiprocessor, kRegisters);
  put(properties, layout.cooperative, 1);
  put(properties, layout.shared_optin, kSharedOptin);
  return success;
}

struct ErrorText {
  int error;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {success, "cudaSuccess", "no error"},
    {invalid_value, "cudaErrorInvalidValue", "invalid argument"},
    {out_of_memory, "cudaErrorMemoryAllocation", "out of memory"},
    {no_device, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {invalid_device, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {not_ready, "cudaErrorNotReady", "device not ready"},
    {not_supported, "cudaErrorNotSupported", "operation not supported"},
};

const ErrorText& text_of(int error) {
  static constexpr ErrorText kOther = {-1, "cudaErrorUnknown", "unknown error"};
  for (const ErrorText& known : kErrors) {
    if (known.error == error) return known;
  }
  return kOther;
}

}  // namespace

int& last_error() { return t_last_error; }
int fail(int error) { return t_last_error = error; }

FAKE_CUDA_API int cudaGetLastError() {
  const int error = t_last_error;
  t_last_error = success;
  return error;
}
FAKE_CUDA_API int cudaPeekAtLastError() { return t_last_error; }
FAKE_CUDA_API const char* cudaGetErrorName(int error) { return text_of(error).name; }
FAKE_CUDA_API const char* cudaGetErrorString(int error) { return text_of(error).text; }

FAKE_CUDA_API int cudaGetDeviceCount(int* count) {
  *count = device_count();
  return *count ? success : fail(no_device);
}
FAKE_CUDA_API int cudaGetDevice(int* device) {
  *device = current_device();
  return device_count() ? success : fail(no_device);
}
FAKE_CUDA_API int cudaSetDevice(int device) {
  if (device < 0 || device >= device_count()) return fail(invalid_device);
  set_current_device(device);
  return success;
}
FAKE_CUDA_API int cudaGetDeviceProperties(char* properties, int device) {
  return fill_properties(properties, device, kLayout13);
}
FAKE_CUDA_API int cudaGetDeviceProperties_v2(char* properties, int device) {
  return fill_properties(properties, device, kLayout12);
}

// enum cudaDeviceAttr. What is not here is answered with 1: "yes, that can be done".
FAKE_CUDA_API int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (device < 0 || device >= device_count()) return fail(invalid_device);
  switch (attribute) {
    case 1:
      *value = kThreadsPerBlock;
      break;
    case 8:
      *value = int(kSharedPerBlock);
      break;
    case 10:
      *value = kWarp;
      break;
    case 12:
      *value = kRegisters;
      break;
    case 16:
      *value = kMultiprocessors;
      break;
    case 39:
      *value = kThreadsPerMultiprocessor;
      break;
    case 75:
      *value = kMajor;
      break;
    case 76:
      *value = kMinor;
      break;
    case 81:
      *value = int(kSharedPerMultiprocessor);
      break;
    case 82:
      *value = kRegisters;
      break;
    case 97:
      *value = int(kSharedOptin);
      break;
    case 106:
      *value = kBlocksPerMultiprocessor;
      break;
    default:
      *value = 1;
  }
  return success;
}
FAKE_CUDA_API int cudaDeviceGetPCIBusId(char* text, int length, int device) {
  snprintf(text, size_t(length), "0000:%02x:00.0", 1 + device);
  return success;
}
FAKE_CUDA_API int cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return success;
}
FAKE_CUDA_API int cudaDeviceEnablePeerAccess(int, unsigned) { return success; }
FAKE_CUDA_API int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return success;
}
FAKE_CUDA_API int cudaDriverGetVersion(int* version) {
  *version = FAKE_CUDA_VERSION;
  return success;
}
FAKE_CUDA_API int cudaRuntimeGetVersion(int* version) {
  *version = FAKE_CUDA_VERSION;
  return success;
}
FAKE_CUDA_API int cudaProfilerStart() { return success; }
FAKE_CUDA_API int cudaProfilerStop() { return success; }

// A name that the driver lacks is no error of the call: *found says so (cudaDriverEntryPointSymbolNotFound).
FAKE_CUDA_API int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                                   int* found) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  *function = driver ? dlsym(driver, name) : nullptr;
  if (found) *found = *function ? 0 : 1;
  return success;
}
FAKE_CUDA_API int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* found) {
  return cudaGetDriverEntryPointByVersion(name, function, FAKE_CUDA_VERSION, flags, found);
}

}  // namespace fake_cuda
