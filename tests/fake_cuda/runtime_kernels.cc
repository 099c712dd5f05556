// SPDX-License-Identifier: Apache-2.0
// Device code: registered by the libraries' constructors and launched; nothing of it runs. The calls with two
// underscores are what nvcc's host code makes (crt/host_runtime.h; __cudaGetKernel and its fellows are new in CUDA 13).
#include <cstdlib>
#include <cstring>

#include "activity.h"
#include "fake_device.h"

namespace fake_cuda {

namespace {

int launch(CallId id, const char* name) {
  const Call call(Api::runtime, id, name);
  call.launched();
  return success;
}

}  // namespace

FAKE_CUDA_API void** __cudaRegisterFatBinary(void*) {
  static void* handle[4];
  return handle;
}
FAKE_CUDA_API void __cudaRegisterFatBinaryEnd(void**) {}
FAKE_CUDA_API void __cudaUnregisterFatBinary(void**) {}
FAKE_CUDA_API void __cudaRegisterFunction() {}
FAKE_CUDA_API void __cudaRegisterVar() {}
FAKE_CUDA_API char __cudaInitModule(void**) { return 1; }
FAKE_CUDA_API int __cudaGetKernel(const void** kernel, const void* function) {
  *kernel = function;  // torch refuses a null one
  return success;
}

FAKE_CUDA_API int __cudaPushCallConfiguration() { return 0; }
FAKE_CUDA_API int __cudaPopCallConfiguration(unsigned* grid, unsigned* block, size_t* shared, void** stream) {
  for (int i = 0; i < 3; ++i) grid[i] = block[i] = 1;
  *shared = 0;
  *stream = nullptr;
  return success;
}
FAKE_CUDA_API int __cudaLaunchKernel() { return launch(CallId::__cudaLaunchKernel, "__cudaLaunchKernel"); }
FAKE_CUDA_API int cudaLaunchKernel() { return launch(CallId::cudaLaunchKernel, "cudaLaunchKernel"); }
FAKE_CUDA_API int cudaLaunchKernelExC() { return launch(CallId::cudaLaunchKernelExC, "cudaLaunchKernelExC"); }
FAKE_CUDA_API int cudaLaunchCooperativeKernel() {
  return launch(CallId::cudaLaunchCooperativeKernel, "cudaLaunchCooperativeKernel");
}

FAKE_CUDA_API int cudaFuncSetAttribute(const void*, int, int) { return success; }
FAKE_CUDA_API int cudaKernelSetAttributeForDevice(void*, int, int, int) { return success; }
// struct cudaFuncAttributes: three sizes, then ints, the first the largest block, the second the registers
// (driver_types.h 13.0).
FAKE_CUDA_API int cudaFuncGetAttributes(char* attributes, const void*) {
  const int block_and_registers[] = {1024, 32, 80, 80};
  memset(attributes, 0, 144);
  memcpy(attributes + 24, block_and_registers, sizeof block_and_registers);
  return success;
}
FAKE_CUDA_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = 2;
  return success;
}
FAKE_CUDA_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t,
                                                                         unsigned) {
  *blocks = 2;
  return success;
}

FAKE_CUDA_API int cudaLibraryLoadData(void** library, ...) {
  *library = calloc(1, 64);
  return success;
}
FAKE_CUDA_API int cudaLibraryGetKernel(void** kernel, void*, const char*) {
  static char kernel_of_any_name;
  *kernel = &kernel_of_any_name;
  return success;
}
FAKE_CUDA_API int cudaLibraryUnload(void* library) {
  free(library);
  return success;
}

}  // namespace fake_cuda
