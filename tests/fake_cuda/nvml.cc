// SPDX-License-Identifier: Apache-2.0
// NVML (libnvidia-ml.so.1): which processes hold how much of a device. torch asks it when an allocation fails, and
// expandable segments of torch 2.14.1 call through null pointers where it is missing. Signatures and numbers:
// nvml.h 13.0.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>

#include "fake_device.h"

namespace fake_cuda {

namespace {

constexpr int kInvalidArgument = 2, kNotSupported = 3, kInsufficientSize = 7, kVersionMismatch = 25;  // nvmlReturn_t
constexpr unsigned long long kReserved = 480ull << 20;  // the driver's own, as on an H100 with driver 580
constexpr unsigned kAnotherProcess = 1;                 // the pid of whom TENSORSCOPE_FAKE_CUDA_OTHERS tells

struct Process1 {  // nvmlProcessInfo_v1_t
  unsigned pid;
  unsigned long long used;
};
struct Process2 {  // nvmlProcessInfo_v2_t, also of the calls that end in _v3
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

std::mutex lock;
int starts = 0, device_file = -1;
int handles[kMaxDevices];  // a device's handle is the address of its element

template <typename Process>
int processes(void* handle, unsigned* count, Process* out) {
  const auto device = int(static_cast<int*>(handle) - handles);
  const unsigned present = (taken(device) ? 1 : 0) + (others() ? 1 : 0);
  const unsigned room = *count;
  *count = present;
  if (room < present) return kInsufficientSize;
  if (taken(device)) {
    *out = {};
    out->pid = unsigned(getpid());
    out++->used = taken(device);
  }
  if (others()) {
    *out = {};
    out->pid = kAnotherProcess;
    out->used = others();
  }
  return success;
}

}  // namespace

// As the real one, it holds descriptors of the devices from the first start to the last stop.
FAKE_CUDA_API int nvmlInit_v2() {
  const std::lock_guard guard(lock);
  if (starts++ == 0) device_file = open("/dev/null", O_RDWR | O_CLOEXEC);
  return success;
}
FAKE_CUDA_API int nvmlShutdown() {
  const std::lock_guard guard(lock);
  if (starts > 0 && --starts == 0) close(device_file);
  return success;
}
FAKE_CUDA_API const char* nvmlErrorString(int error) { return error == success ? "Success" : "Not Supported"; }
FAKE_CUDA_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return success;
}
FAKE_CUDA_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = unsigned(device_count());
  return success;
}
FAKE_CUDA_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  if (index >= unsigned(device_count())) return kInvalidArgument;
  *handle = &handles[index];
  return success;
}
FAKE_CUDA_API int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** handle) {
  unsigned domain = 0, bus = 0;
  if (sscanf(bus_id, "%x:%x", &domain, &bus) != 2 || bus == 0) return kInvalidArgument;
  return nvmlDeviceGetHandleByIndex_v2(bus - 1, handle);
}
// nvmlMemory_t: total, free, used. The driver's own counts as used.
FAKE_CUDA_API int nvmlDeviceGetMemoryInfo(void* handle, unsigned long long* memory) {
  const auto device = int(static_cast<int*>(handle) - handles);
  memory[0] = capacity(device) + kReserved;
  memory[1] = available(device);
  memory[2] = taken(device) + others() + kReserved;
  return success;
}
struct Memory2 {  // nvmlMemory_v2_t
  unsigned version;
  unsigned long long total, reserved, free, used;
};
FAKE_CUDA_API int nvmlDeviceGetMemoryInfo_v2(void* handle, Memory2* memory) {
  const auto device = int(static_cast<int*>(handle) - handles);
  if (memory->version != (sizeof *memory | 2u << 24)) return kVersionMismatch;
  *memory = {memory->version, capacity(device) + kReserved, kReserved, available(device), taken(device) + others()};
  return success;
}
FAKE_CUDA_API int nvmlDeviceGetComputeRunningProcesses(void* handle, unsigned* count, Process1* out) {
  return processes(handle, count, out);
}
FAKE_CUDA_API int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, Process2* out) {
  return processes(handle, count, out);
}
FAKE_CUDA_API int nvmlDeviceGetGpuFabricInfoV(void*, void*) { return kNotSupported; }
FAKE_CUDA_API int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int*) { return kNotSupported; }
FAKE_CUDA_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) { return kNotSupported; }

}  // namespace fake_cuda
