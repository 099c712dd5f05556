// SPDX-License-Identifier: Apache-2.0
#include "devices/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "support/load_library.h"
#include "support/loaded_object.h"

namespace tensorscope::devices {

namespace {

constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";
constexpr int kNvmlSuccess = 0, kInsufficientSize = 7, kFunctionNotFound = 13;  // nvmlReturn_t
constexpr unsigned long long kNotAvailable = ~0ull;                             // NVML_VALUE_NOT_AVAILABLE
constexpr unsigned kMigOn = 1;                                                  // NVML_DEVICE_MIG_ENABLE

// It comes with the driver, as libcuda does and into the same folder; that folder may be known to who loaded libcuda
// alone.
void* open_beside_libcuda() {
  const LoadedObject driver = find_object("libcuda.so.1");
  const char* slash = driver ? strrchr(driver.path, '/') : nullptr;
  char path[PATH_MAX];
  if (!slash) return nullptr;
  const int length = snprintf(path, sizeof path, "%.*s/%s", int(slash - driver.path), driver.path, kNvmlLibrary);
  return length < int(sizeof path) ? load_library(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
}

template <typename Function>
void find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function) return;
  }
}

void say_more(DriverFacts& facts, const char* what) {
  const size_t used = strlen(facts.detail);
  snprintf(facts.detail + used, sizeof facts.detail - used, "%s%s", used ? "; " : "", what);
}

}  // namespace

bool Nvml::open() {
  if (library_) return true;
  library_ = load_library(kNvmlLibrary, RTLD_NOW | RTLD_NOLOAD);
  if (!library_) library_ = open_beside_libcuda();
  if (!library_) library_ = load_library(kNvmlLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    snprintf(trouble_, sizeof trouble_, "%s cannot be opened", kNvmlLibrary);
    return false;
  }
  find(library_, init_, {"nvmlInit_v2", "nvmlInit"});
  find(library_, shutdown_, {"nvmlShutdown"});
  find(library_, handle_, {"nvmlDeviceGetHandleByPciBusId_v2"});
  find(library_, memory_, {"nvmlDeviceGetMemoryInfo"});
  find(library_, memory2_, {"nvmlDeviceGetMemoryInfo_v2"});
  find(library_, name_, {"nvmlDeviceGetName"});
  find(library_, mig_mode_, {"nvmlDeviceGetMigMode"});
  find(library_, compute_, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  find(library_, graphics_, {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"});
  return true;
}

bool Nvml::is_started(const char* bus_id) const {
  constexpr int kUninitialized = 1;  // NVML_ERROR_UNINITIALIZED
  Handle device = nullptr;
  return handle_ && handle_(bus_id, &device) != kUninitialized;
}

bool Nvml::start() {
  const int error = init_ && shutdown_ && handle_ && memory_ ? init_() : -1;
  if (error != kNvmlSuccess) {
    snprintf(trouble_, sizeof trouble_, "%s cannot be used (error %d)", kNvmlLibrary, error);
    return false;
  }
  return true;
}

int Nvml::add_processes(ListProcesses list, Handle device, DriverFacts& facts) {
  ProcessInfo found[DriverFacts::kMaxProcesses];
  unsigned count = DriverFacts::kMaxProcesses;
  const int error = list(device, &count, found);
  if (error == kInsufficientSize) say_more(facts, "there are too many processes to list");
  if (error != kNvmlSuccess) return error;
  for (unsigned i = 0; i < count; ++i) {
    const uint64_t bytes = found[i].used == kNotAvailable ? UINT64_MAX : found[i].used;
    if (found[i].pid == unsigned(getpid())) {
      own_found_ = true;
      if (bytes != UINT64_MAX && bytes > facts.own) facts.own = bytes;
      continue;
    }
    DriverFacts::Process* const end = facts.processes + facts.processes_count;
    DriverFacts::Process* known = facts.processes;
    while (known != end && known->pid != found[i].pid) ++known;
    if (known == end && facts.processes_count == DriverFacts::kMaxProcesses) continue;
    if (known == end) {
      *known = {found[i].pid, bytes};
      ++facts.processes_count;
    } else if (known->bytes == UINT64_MAX || (bytes != UINT64_MAX && bytes > known->bytes)) {
      known->bytes = bytes;  // of a process that computes and draws both lists tell the same
    }
  }
  return kNvmlSuccess;
}

void Nvml::look_at_processes(Handle device, DriverFacts& facts) {
  own_found_ = false;
  const int error = compute_ ? add_processes(compute_, device, facts) : kFunctionNotFound;
  if (error == kInsufficientSize) return;
  if (error != kNvmlSuccess) return say_more(facts, "the driver reports no processes");
  if (graphics_) add_processes(graphics_, device, facts);
  if (!own_found_) {
    say_more(facts, "the driver lists this process under no process id known here (a container?)");
  } else if (facts.own == 0) {
    say_more(facts, "the driver does not report this process's bytes");
  }
}

// What programs can have, as cudaMemGetInfo counts it: without what the driver keeps for itself (480 MiB of an H100),
// if the driver reports that.
int Nvml::read_memory(Handle device, DriverFacts& facts) {
  Memory2 usable = {};
  usable.version = sizeof usable | 2u << 24;  // NVML_STRUCT_VERSION
  if (memory2_ && memory2_(device, &usable) == kNvmlSuccess && usable.reserved <= usable.total) {
    facts.total = usable.total - usable.reserved;
    facts.free = usable.free;
    return kNvmlSuccess;
  }
  Memory memory = {};
  const int error = memory_(device, &memory);
  if (error == kNvmlSuccess) {
    facts.total = memory.total;
    facts.free = memory.free;
  }
  return error;
}

bool Nvml::look(const char* bus_id, DriverFacts& facts) {
  Handle device = nullptr;
  if (const int error = handle_(bus_id, &device); error != kNvmlSuccess) {
    char text[96];
    snprintf(text, sizeof text, "NVML does not know the device %.32s (error %d)", bus_id, error);
    say_more(facts, text);
    return false;
  }
  if (name_ && name_(device, facts.name, sizeof facts.name) != kNvmlSuccess) facts.name[0] = 0;
  unsigned current = 0, pending = 0;
  if (mig_mode_ && mig_mode_(device, &current, &pending) == kNvmlSuccess && current == kMigOn) {
    say_more(facts, "the device is partitioned (MIG): the processes of this partition are not reported");
    return false;
  }
  if (const int error = read_memory(device, facts); error != kNvmlSuccess) {
    char text[64];
    snprintf(text, sizeof text, "NVML does not report its memory (error %d)", error);
    say_more(facts, text);
    return false;
  }
  look_at_processes(device, facts);
  return true;
}

}  // namespace tensorscope::devices
