// An allocator for torch.cuda.memory.CUDAPluggableAllocator: every request is one of the CUDA runtime, and where that
// fails it throws what torch's own allocators throw.
#include <c10/util/Exception.h>

#include <cstddef>

extern "C" {
int cudaMalloc(void**, size_t);
int cudaFree(void*);

__attribute__((visibility("default"))) void* plugged_malloc(ptrdiff_t nbytes, int device, void*) {
  void* pointer = nullptr;
  const volatile int error = cudaMalloc(&pointer, size_t(nbytes));
  TORCH_CHECK_WITH(OutOfMemoryError, error == 0, "the plugged allocator has no ", nbytes, " bytes on ", device);
  return pointer;
}
__attribute__((visibility("default"))) void plugged_free(void* pointer, ptrdiff_t, int, void*) { cudaFree(pointer); }
}
