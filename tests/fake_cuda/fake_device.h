// SPDX-License-Identifier: Apache-2.0
// The devices behind the double: how much memory each has, and how much is allocated, which address ranges are whose,
// and which calls shall fail. "Device memory" is host memory, so that copies are memmove and every pointer can be read.
//
// Lives in the double of the runtime (libcudart); the double of the driver (libcuda) and of NVML link with that, so all
// three report the same devices. Thread-safe: one mutex, held for a few instructions. Bytes everywhere.
//
// Environment, read once:
//   TENSORSCOPE_FAKE_CUDA_DEVICES=n         how many (1; at most kMaxDevices); CUDA_VISIBLE_DEVICES chooses among them
//   TENSORSCOPE_FAKE_CUDA_CAPACITY=bytes    memory of each device (256 MiB)
//   TENSORSCOPE_FAKE_CUDA_OTHERS=bytes      what another process holds on each device, as NVML tells it (0)
//   TENSORSCOPE_FAKE_CUDA_FAIL=call:first[:count][,...]   the first-th call of that name (from 1) and the count - 1
//   after
//                                           it (1 in all) fail: "cudaMalloc:3", "cuMemCreate:1:2"
//   TENSORSCOPE_FAKE_CUDA_TRACE=1           names on standard error each generated function that is called
// The same from inside a running program: fake_cuda_set_capacity, fake_cuda_fail (by ctypes: they are exported).
#pragma once

#include <cstddef>
#include <cstdint>

#define FAKE_CUDA_API extern "C" __attribute__((visibility("default")))

namespace fake_cuda {

constexpr int kMaxDevices = 8;

// Numbers shared by cudaError_t and CUresult (driver_types.h, cuda.h 13.0).
enum Error : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_device = 101,
  not_ready = 600,
  not_supported = 801
};

enum class Memory : int { unknown = 0, host = 1, device = 2, managed = 3 };  // cudaMemoryType

struct Range {
  char* begin = nullptr;
  size_t size = 0;
  int device = -1;
  Memory memory = Memory::unknown;
};

#pragma GCC visibility push(default)

int device_count();
int current_device();  // of the calling thread
void set_current_device(int device);

size_t capacity(int device);
size_t available(int device);  // capacity less what is taken here and by others
size_t taken(int device);      // by this process
size_t others();

bool take(int device, size_t nbytes);  // false: no room
void give_back(int device, size_t nbytes);

void add_range(const Range& range);
Range remove_range(const void* begin);  // memory unknown: there is none that begins so
Range find_range(const void* inside);

bool shall_fail(const char* call);  // counts the call

#pragma GCC visibility pop

}  // namespace fake_cuda
