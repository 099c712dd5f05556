// SPDX-License-Identifier: Apache-2.0
#include "dump/system_totals.h"

#include "support/small_file.h"
#include "support/system_limits.h"

namespace tensorscope::dump {

namespace {

void read_resident_kinds(SystemTotals& totals) {
  char status[4096];
  if (read_small_file("/proc/self/status", status, sizeof(status)) == 0) return;
  totals.anonymous = number_after(status, "RssAnon:") * 1024;
  totals.file = number_after(status, "RssFile:") * 1024;
  totals.shared = number_after(status, "RssShmem:") * 1024;
}

}  // namespace

SystemTotals read_system_totals() {
  LimitReader reader;
  const SystemMemory memory = reader.read();
  SystemTotals totals;
  totals.resident = memory.resident;
  totals.resident_peak = memory.resident_peak;
  totals.cgroup_current = memory.cgroup_current;
  totals.cgroup_limit = memory.cgroup_lowest_limit;
  totals.machine_total = memory.machine.limit;
  totals.machine_available = memory.machine.left;
  read_resident_kinds(totals);
  return totals;
}

}  // namespace tensorscope::dump
