// A library that calls the CUDA runtime beside torch, as extensions and communication libraries do. What it calls is
// bound by whoever loads it: by the process' CUDA runtime, or the preload before it.
#include <stddef.h>

int cudaMalloc(void**, size_t);
int cudaFree(void*);
int cudaMallocAsync(void**, size_t, void*);
int cudaFreeAsync(void*, void*);
int cudaMallocManaged(void**, size_t, unsigned);
int cudaHostAlloc(void**, size_t, unsigned);
int cudaMallocHost(void**, size_t);
int cudaFreeHost(void*);
int cudaHostRegister(void*, size_t, unsigned);
int cudaHostUnregister(void*);

// Not a tail call: the call's return address says which library made it.
#define CALL(call)           \
  volatile int error = call; \
  return error

int take_device(void** pointer, size_t nbytes) { CALL(cudaMalloc(pointer, nbytes)); }
int take_async(void** pointer, size_t nbytes) { CALL(cudaMallocAsync(pointer, nbytes, NULL)); }
int take_managed(void** pointer, size_t nbytes) { CALL(cudaMallocManaged(pointer, nbytes, 1)); }
int take_pinned(void** pointer, size_t nbytes) { CALL(cudaHostAlloc(pointer, nbytes, 0)); }
int take_host(void** pointer, size_t nbytes) { CALL(cudaMallocHost(pointer, nbytes)); }
int give_device(void* pointer) { CALL(cudaFree(pointer)); }
int give_async(void* pointer) { CALL(cudaFreeAsync(pointer, NULL)); }
int give_host(void* pointer) { CALL(cudaFreeHost(pointer)); }
int pin(void* pointer, size_t nbytes) { CALL(cudaHostRegister(pointer, nbytes, 0)); }
int unpin(void* pointer) { CALL(cudaHostUnregister(pointer)); }
