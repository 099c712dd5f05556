#include "snapshot/system_totals.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "out_of_memory/limits.h"
#include "snapshot/small_file.h"

namespace tensorscope::snapshot {

namespace {

// A kernel without CONFIG_PROC_CHILDREN has no such file.
void read_children_of(const char* thread, SystemTotals& totals) {
  char path[64], text[8192];
  snprintf(path, sizeof(path), "/proc/self/task/%.16s/children", thread);
  read_small_file(path, text, sizeof(text));
  char* save = nullptr;
  for (char* pid = strtok_r(text, " ", &save); pid != nullptr; pid = strtok_r(nullptr, " ", &save)) {
    char status[4096];
    snprintf(path, sizeof(path), "/proc/%.16s/status", pid);
    if (read_small_file(path, status, sizeof(status)) == 0) continue;
    totals.children += 1;
    totals.children_resident += number_after(status, "VmRSS:") * 1024;  // an ended child has none
  }
}

// A child belongs to the thread that made it.
void read_children(SystemTotals& totals) {
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) return;
  while (const dirent* thread = readdir(threads)) {
    if (thread->d_name[0] != '.') read_children_of(thread->d_name, totals);
  }
  closedir(threads);
}

}  // namespace

SystemTotals read_system_totals() {
  out_of_memory::LimitReader reader;
  const out_of_memory::SystemMemory memory = reader.read();
  SystemTotals totals;
  totals.resident = memory.resident;
  totals.resident_peak = memory.resident_peak;
  totals.cgroup_current = memory.cgroup_current;
  totals.cgroup_limit = memory.cgroup_lowest_limit;
  totals.machine_total = memory.machine.limit;
  totals.machine_available = memory.machine.left;
  read_children(totals);
  return totals;
}

}  // namespace tensorscope::snapshot
