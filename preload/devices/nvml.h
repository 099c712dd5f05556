// SPDX-License-Identifier: Apache-2.0
// The few functions of NVML that tell who uses a device's memory. No header of NVIDIA's is needed: names, structs and
// numbers are those of nvml.h (11.0 to 13.0; the ABI of a name never changes, a new one gets a new suffix).
//
// Context: the thread that queries the driver (driver.cc). Any call may take long.
#pragma once

#include "devices/driver_facts.h"

namespace tensorscope::devices {

class Nvml {
 public:
  // Opens the library where that was not done yet. False: trouble() says why.
  bool open();
  // Whether somebody else has started it, and not stopped it.
  bool is_started(const char* bus_id) const;
  // Once it is open. False: trouble() says why.
  bool start();
  // After each successful start(): the library holds descriptors of the devices until then, and the program may close
  // them, and get their numbers for files of its own.
  void stop() { shutdown_(); }
  const char* trouble() const { return trouble_; }

  // Fills in what it can; `bus_id` as cudaDeviceGetPCIBusId writes it. False: this device is not one of NVML's, or one
  // that is partitioned: the runtime must tell total and free.
  bool look(const char* bus_id, DriverFacts& facts);

 private:
  struct Memory {  // nvmlMemory_t; total has what the driver keeps for itself
    unsigned long long total, free, used;
  };
  struct Memory2 {  // nvmlMemory_v2_t (nvml.h of 11.6 and newer)
    unsigned version;
    unsigned long long total, reserved, free, used;
  };
  struct ProcessInfo {  // nvmlProcessInfo_v2_t, also of the functions that end in _v3
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
  };
  using Handle = void*;
  using ListProcesses = int (*)(Handle, unsigned*, ProcessInfo*);

  int read_memory(Handle device, DriverFacts& facts);
  void look_at_processes(Handle device, DriverFacts& facts);
  // Returns what NVML does.
  int add_processes(ListProcesses list, Handle device, DriverFacts& facts);

  void* library_ = nullptr;
  char trouble_[128] = "";
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*handle_)(const char*, Handle*) = nullptr;
  int (*memory_)(Handle, Memory*) = nullptr;
  int (*memory2_)(Handle, Memory2*) = nullptr;
  int (*name_)(Handle, char*, unsigned) = nullptr;
  int (*mig_mode_)(Handle, unsigned*, unsigned*) = nullptr;
  ListProcesses compute_ = nullptr, graphics_ = nullptr;
  bool own_found_ = false;
};

}  // namespace tensorscope::devices
