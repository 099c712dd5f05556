// SPDX-License-Identifier: Apache-2.0
#include "oom/failure_record.h"

namespace tensorscope::oom {

constinit thread_local bool t_runtime_call_failed = false;

namespace {

struct Reported {
  uint64_t nbytes, allocated, reserved;
  Device device;
  bool valid;
};
struct FailedCall {
  uint64_t nbytes;
  const char* call;
  Device device;
  dump::Kind kind;
};
constinit thread_local Reported t_reported{};
constinit thread_local FailedCall t_failed_call{};

// As a person reads it: the error that the runtime gives all of them.
struct CallError {
  const char* call;
  const char* error;
};
constexpr CallError kCallErrors[] = {
    {"cudaMalloc", "cudaMalloc: out of memory"},
    {"cudaMallocAsync", "cudaMallocAsync: out of memory"},
    {"cudaMallocFromPoolAsync", "cudaMallocFromPoolAsync: out of memory"},
    {"cudaMallocManaged", "cudaMallocManaged: out of memory"},
    {"cudaMallocHost", "cudaMallocHost: out of memory"},
    {"cudaHostAlloc", "cudaHostAlloc: out of memory"},
    {"cudaHostRegister", "cudaHostRegister: out of memory"},
};

const char* error_of(const char* call) {
  for (const CallError& known : kCallErrors) {
    if (__builtin_strcmp(known.call, call) == 0) return known.error;
  }
  return "out of memory in a call of the CUDA runtime";
}

}  // namespace

void allocator_reported(uint64_t nbytes, uint64_t allocated, uint64_t reserved, Device device) {
  if (device.type == 0) return;  // the CPU's allocator reports while it is profiled; it has a hook of its own
  t_reported = {nbytes, allocated, reserved, device, true};
}

void runtime_call_failed(dump::Kind kind, Device device, uint64_t nbytes, const char* call) {
  t_failed_call = {nbytes, call, device, kind};
  t_runtime_call_failed = true;
}

bool take_failure(bool out_of_memory_type, dump::Failure& failure) {
  const bool called = t_runtime_call_failed;
  const Reported reported = t_reported;
  if (!out_of_memory_type && !called) return false;
  t_runtime_call_failed = t_reported.valid = false;
  failure.kind = called ? t_failed_call.kind : failure.device.type != 0 ? dump::Kind::device : dump::Kind::unknown;
  failure.error = out_of_memory_type ? "c10::OutOfMemoryError" : error_of(t_failed_call.call);
  if (out_of_memory_type && reported.valid) {
    failure.kind = dump::Kind::device;
    failure.device = reported.device;
    failure.requested = reported.nbytes;
    failure.allocator_allocated = reported.allocated;
    failure.allocator_reserved = reported.reserved;
  } else if (called) {
    failure.device = t_failed_call.device;
    failure.requested = t_failed_call.nbytes;
  }
  if (failure.kind == dump::Kind::device) failure.limit = SystemLimit::device;
  return true;
}

}  // namespace tensorscope::oom
