#include "snapshot/system_totals.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>

#include "snapshot/small_file.h"

namespace tensorscope::snapshot {

namespace {

struct CgroupFiles {
  const char* root;
  const char* current;
  const char* limit;
};
constexpr CgroupFiles kVersion2 = {"/sys/fs/cgroup", "memory.current", "memory.max"};
constexpr CgroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "memory.usage_in_bytes", "memory.limit_in_bytes"};

// Version 1 writes "no limit" as the largest multiple of a page.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

uint64_t number_in(const std::string& directory, const char* file) {
  char text[64];
  return read_small_file((directory + "/" + file).c_str(), text, sizeof(text)) != 0 ? strtoull(text, nullptr, 10)
                                                                                    : 0;  // "max" reads as 0
}

// The group's own use, and the lowest limit of it and the groups above. In a container the path that /proc tells may
// not exist below the mount; the mount's root is then the group itself.
void read_cgroup(const CgroupFiles& files, char* group, SystemTotals& totals) {
  for (;;) {
    const std::string directory = std::string(files.root) + group;
    if (totals.cgroup_current == 0) totals.cgroup_current = number_in(directory, files.current);
    const uint64_t limit = number_in(directory, files.limit);
    if (limit != 0 && limit < kNoLimit && (totals.cgroup_limit == 0 || limit < totals.cgroup_limit)) {
      totals.cgroup_limit = limit;
    }
    char* slash = strrchr(group, '/');
    if (slash == nullptr) return;
    *slash = 0;
  }
}

// Lines "id:controllers:/path"; version 2 has id 0 and no controllers.
void read_cgroups(SystemTotals& totals) {
  char text[8192];
  read_small_file("/proc/self/cgroup", text, sizeof(text));
  char* save = nullptr;
  for (char* line = strtok_r(text, "\n", &save); line != nullptr; line = strtok_r(nullptr, "\n", &save)) {
    char* controllers = strchr(line, ':');
    char* group = controllers != nullptr ? strchr(controllers + 1, ':') : nullptr;
    if (group == nullptr) continue;
    *group++ = 0;
    if (strncmp(line, "0:", 2) == 0 && controllers[1] == 0) {
      read_cgroup(kVersion2, group, totals);
    } else if (strstr(controllers, "memory") != nullptr) {
      read_cgroup(kVersion1, group, totals);
    }
  }
}

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
  SystemTotals totals;
  char text[8192];
  read_small_file("/proc/self/status", text, sizeof(text));
  totals.resident = number_after(text, "VmRSS:") * 1024;
  totals.resident_peak = number_after(text, "VmHWM:") * 1024;
  read_small_file("/proc/meminfo", text, sizeof(text));
  totals.machine_total = number_after(text, "MemTotal:") * 1024;
  totals.machine_available = number_after(text, "MemAvailable:") * 1024;
  read_cgroups(totals);
  read_children(totals);
  return totals;
}

}  // namespace tensorscope::snapshot
