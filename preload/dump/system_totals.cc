#include "dump/system_totals.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "support/clock.h"
#include "support/small_file.h"
#include "support/system_limits.h"

namespace tensorscope::dump {

namespace {

// The kernel walks a child's page tables for this, some milliseconds of this thread's processor time a gibibyte: that
// is limited, since on a busy machine much more passes by the clock. The clock alone is for a child whose lock is held.
constexpr uint64_t kMostProcessorNs = 50'000'000, kLongestWaitNs = 2'000'000'000;

struct PrivateBytes {
  uint64_t bytes = 0;
  uint64_t processor_until_ns = read_clock_ns(CLOCK_THREAD_CPUTIME_ID) + kMostProcessorNs;
  uint64_t until_ns = monotonic_ns() + kLongestWaitNs;
  bool time_is_left() const {
    return read_clock_ns(CLOCK_THREAD_CPUTIME_ID) < processor_until_ns && monotonic_ns() < until_ns;
  }
  bool known = true;
};

void add_private(const char* pid, PrivateBytes& children) {
  char path[64], text[4096];
  if (!children.known || !children.time_is_left()) {
    children.known = false;
    return;
  }
  snprintf(path, sizeof(path), "/proc/%.16s/smaps_rollup", pid);
  children.known = read_small_file(path, text, sizeof(text)) != 0;
  children.bytes += (number_after(text, "Private_Clean:") + number_after(text, "Private_Dirty:")) * 1024;
}

// A kernel without CONFIG_PROC_CHILDREN has no such file.
void read_children_of(const char* thread, SystemTotals& totals, PrivateBytes& children) {
  char path[64], text[8192];
  snprintf(path, sizeof(path), "/proc/self/task/%.16s/children", thread);
  read_small_file(path, text, sizeof(text));
  char* save = nullptr;
  for (char* pid = strtok_r(text, " ", &save); pid != nullptr; pid = strtok_r(nullptr, " ", &save)) {
    char status[4096];
    snprintf(path, sizeof(path), "/proc/%.16s/status", pid);
    if (read_small_file(path, status, sizeof(status)) == 0) continue;
    totals.children += 1;
    const uint64_t resident = number_after(status, "VmRSS:") * 1024;  // an ended child has none
    totals.children_resident += resident;
    if (resident != 0) add_private(pid, children);
  }
}

// A child belongs to the thread that made it.
void read_children(SystemTotals& totals) {
  PrivateBytes children;
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) return;
  while (const dirent* thread = readdir(threads)) {
    if (thread->d_name[0] != '.') read_children_of(thread->d_name, totals, children);
  }
  closedir(threads);
  if (children.known) totals.children_private = children.bytes;
}

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
  read_children(totals);
  return totals;
}

}  // namespace tensorscope::dump
