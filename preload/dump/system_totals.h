// SPDX-License-Identifier: Apache-2.0
// What the system says about this process's memory: resident size, control group, machine.
//
// Context: collector.
#pragma once

#include <cstdint>

namespace tensorscope::dump {

struct SystemTotals {  // bytes; 0: not known, or no limit
  uint64_t resident = 0, resident_peak = 0;
  uint64_t cgroup_current = 0, cgroup_limit = 0;
  uint64_t machine_total = 0, machine_available = 0;
  uint64_t anonymous = 0, file = 0, shared = 0;  // what is resident
};

SystemTotals read_system_totals();

}  // namespace tensorscope::dump
