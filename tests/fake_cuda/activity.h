// SPDX-License-Identifier: Apache-2.0
// What the doubles of the runtime and the driver tell the double of CUPTI: calls as they begin and end, and what came
// of them. Nothing happens where nobody listens.
//
// Lives in the double of the runtime. Thread-safe; a listener is set once. A call within a call has the outer one's
// correlation number, as with the real libraries.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake_cuda {

enum class Api : int { driver = 1, runtime = 2 };  // CUpti_CallbackDomain

// Numbers of cupti_runtime_cbid.h and cupti_driver_cbid.h.
enum class CallId : uint32_t {
  cudaMalloc = 20,
  cudaFree = 22,
  cudaMallocHost = 25,
  cudaFreeHost = 26,
  cudaHostAlloc = 27,
  cudaMemcpy = 31,
  cudaMemcpyAsync = 41,
  cudaMemcpy2DAsync = 44,
  cudaMemset = 49,
  cudaMemsetAsync = 51,
  cudaHostRegister = 152,
  cudaHostUnregister = 153,
  cudaMemcpyPeerAsync = 161,
  cudaMallocManaged = 206,
  cudaLaunchKernel = 211,
  cudaLaunchCooperativeKernel = 269,
  cudaMallocAsync = 373,
  cudaFreeAsync = 375,
  cudaLaunchKernelExC = 430,
  __cudaLaunchKernel = 505,
  cuMemAlloc_v2 = 243,
  cuMemFree_v2 = 245,
  cuLaunchKernel = 307,
  cuMemCreate = 549,
  cuMemRelease = 550,
  cuMemMap = 551,
  cuMemUnmap = 552,
};

struct Listener {
  void (*call)(bool begins, Api api, CallId id, const char* name, const void* parameters, int* returned,
               uint32_t correlation);
  void (*memory)(bool allocation, const void* address, size_t nbytes, int memory_kind, bool asynchronous, int device,
                 uint32_t correlation);
  void (*kernel)(int device, uint32_t correlation);
  void (*copy)(int kind, size_t nbytes, int device, uint32_t correlation);
  void (*fill)(size_t nbytes, int device, uint32_t correlation);
};

#pragma GCC visibility push(default)

void set_listener(const Listener* listener);

// For the time of one API call.
class Call {
 public:
  // `parameters`: a struct of the arguments in their order.
  Call(Api api, CallId id, const char* name, const void* parameters = nullptr);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  int returns(int result);  // what the call's end tells
  void allocated(const void* address, size_t nbytes, int memory_kind, bool asynchronous) const;
  void released(const void* address, size_t nbytes, int memory_kind, bool asynchronous) const;
  void launched() const;
  void copied(int kind, size_t nbytes) const;
  void filled(size_t nbytes) const;

 private:
  const Listener* listener_;
  Api api_;
  CallId id_;
  const char* name_;
  const void* parameters_;
  int result_ = 0;
};

#pragma GCC visibility pop

#define FAKE_CUDA_CALL(name) const Call call(Api::runtime, CallId::name, #name)

}  // namespace fake_cuda
