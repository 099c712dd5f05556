// A program without Python that uses torch's CUDA allocator: cuda_program TORCH_LIB. It opens torch's libraries and
// makes tensors by the stable C interface (torch/csrc/inductor/aoti_torch/c/shim.h), so that it needs no header of
// CUDA's. Prints the sum of the sizes of what it keeps.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int Make(int64_t ndim, const int64_t* sizes, const int64_t* strides, int32_t dtype, int32_t device_type,
                 int32_t device, void** tensor);
typedef int Drop(void* tensor);
typedef int Dump(const char* path, size_t size);

static void* open_library(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return library;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* cpu = open_library(argv[1], "libtorch_cpu.so");
  open_library(argv[1], "libtorch_cuda.so");
  Make* make = (Make*)dlsym(cpu, "aoti_torch_empty_strided");
  Drop* drop = (Drop*)dlsym(cpu, "aoti_torch_delete_tensor_object");
  const int64_t counts[] = {1000, 8 << 20, 300, 6 << 20};
  const int64_t stride = 1;
  void* tensors[4];
  for (int i = 0; i < 4; ++i) {
    if (make(1, &counts[i], &stride, 6 /* float */, 1 /* CUDA */, 0, &tensors[i]) != 0) return 3;
  }
  drop(tensors[2]);
  printf("%lld\n", (long long)(4 * (counts[0] + counts[1] + counts[3])));
  return 0;
}
