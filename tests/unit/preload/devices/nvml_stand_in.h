// SPDX-License-Identifier: Apache-2.0
// What the stand-in for NVML answers; the test sets it.
#pragma once

struct NvmlProcess {  // nvmlProcessInfo_v2_t
  unsigned pid = 0;
  unsigned long long used = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};

struct NvmlAnswers {
  // What each function returns (nvmlReturn_t); 0: success.
  int init, handle, memory, memory2, name, mig_mode, compute, graphics;
  unsigned mig_is_on;
  unsigned long long total, reserved, free;
  unsigned compute_count, graphics_count;
  NvmlProcess compute_processes[4], graphics_processes[4];
  int starts;  // without the stops
};

extern "C" NvmlAnswers nvml_answers;
