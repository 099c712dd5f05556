// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml.so.1 that answers what it is told.
#include "nvml_stand_in.h"

#include <cstdio>

extern "C" {

NvmlAnswers nvml_answers = {};

int nvmlInit_v2() {
  if (nvml_answers.init == 0) ++nvml_answers.starts;
  return nvml_answers.init;
}
int nvmlShutdown() {
  --nvml_answers.starts;
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** handle) {
  *handle = &nvml_answers;
  return nvml_answers.handle;
}
int nvmlDeviceGetName(void*, char* name, unsigned size) {
  snprintf(name, size, "a device");
  return nvml_answers.name;
}
// nvmlMemory_t: total, free, used.
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = nvml_answers.total;
  memory[1] = nvml_answers.free;
  return nvml_answers.memory;
}
struct Memory2 {  // nvmlMemory_v2_t
  unsigned version;
  unsigned long long total, reserved, free, used;
};
int nvmlDeviceGetMemoryInfo_v2(void*, Memory2* memory) {
  *memory = {memory->version, nvml_answers.total, nvml_answers.reserved, nvml_answers.free, 0};
  return nvml_answers.memory2;
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *current = *pending = nvml_answers.mig_is_on;
  return nvml_answers.mig_mode;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, NvmlProcess* out) {
  *count = nvml_answers.compute_count;
  for (unsigned i = 0; i < *count && nvml_answers.compute == 0; ++i) out[i] = nvml_answers.compute_processes[i];
  return nvml_answers.compute;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void*, unsigned* count, NvmlProcess* out) {
  *count = nvml_answers.graphics_count;
  for (unsigned i = 0; i < *count && nvml_answers.graphics == 0; ++i) out[i] = nvml_answers.graphics_processes[i];
  return nvml_answers.graphics;
}
}
