// SPDX-License-Identifier: Apache-2.0
#include "support/system_limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "support/private_descriptor_table.h"
#include "support/small_file.h"

namespace tensorscope {

namespace {

// Version 1 writes "no limit" as the largest multiple of a page.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

LimitState state_of(uint64_t limit, uint64_t used) { return {limit, limit - std::min(limit, used)}; }

bool kibibytes_after(const char* text, const char* key, uint64_t& bytes) {
  if (!find_number(text, key, bytes)) return false;
  bytes *= 1024;
  return true;
}

uint64_t resource_limit(decltype(RLIMIT_AS) resource) {
  rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
}

bool names_memory(const char* controllers) {
  for (const char* at = controllers; (at = strstr(at, "memory")) != nullptr; ++at) {
    const bool begins = at == controllers || at[-1] == ',';
    if (begins && (at[6] == 0 || at[6] == ',')) return true;
  }
  return false;
}

}  // namespace

// Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst of the kernel. The keys of memory.stat are those of
// pages of files, which can be taken back; the "total_" of version 1 is the group with all below it.
struct LimitReader::CgroupFiles {
  const char* mount;  // below the root
  const char* current;
  const char* limit;
  const char* reclaimable[3];
};
const LimitReader::CgroupFiles LimitReader::kVersion2 = {
    "", "memory.current", "memory.max", {"inactive_file", "active_file", "slab_reclaimable"}};
const LimitReader::CgroupFiles LimitReader::kVersion2BesideVersion1 = {
    "/unified", "memory.current", "memory.max", {"inactive_file", "active_file", "slab_reclaimable"}};
const LimitReader::CgroupFiles LimitReader::kVersion1 = {
    "/memory", "memory.usage_in_bytes", "memory.limit_in_bytes", {"total_inactive_file", "total_active_file", nullptr}};

const LimitState* SystemMemory::find(SystemLimit limit) const {
  const WatchedLimit* const watched = find_watched(limit);
  return watched != nullptr ? &(this->*watched->state) : nullptr;
}

LimitState shared_memory(const char* folder) {
  const int saved_errno = errno;
  struct statvfs system;
  const bool known = statvfs(folder, &system) == 0;
  errno = saved_errno;
  if (!known) return {};
  return {uint64_t{system.f_blocks} * system.f_frsize, uint64_t{system.f_bavail} * system.f_frsize};
}

uint64_t address_space_left() {
  const uint64_t limit = resource_limit(RLIMIT_AS);
  char text[256];
  if (limit == 0 || read_small_file("/proc/self/statm", text, sizeof(text)) == 0) return UINT64_MAX;
  return state_of(limit, strtoull(text, nullptr, 10) * uint64_t(sysconf(_SC_PAGESIZE))).left;
}

bool address_space_is_tight() {
  constexpr uint64_t kTight = uint64_t{512} << 20;
  return address_space_left() < kTight;
}

LimitReader::ResourceLimits LimitReader::ResourceLimits::of_this_process() {
  return {resource_limit(RLIMIT_AS), resource_limit(RLIMIT_DATA)};
}

bool LimitReader::read_file(const char* root, const char* folder, std::string_view group, const char* file) {
  const int length = snprintf(path_, sizeof(path_), "%s%s%.*s/%s", root, folder, int(group.size()), group.data(), file);
  return length < int(sizeof(path_)) && read_small_file(path_, text_, sizeof(text_)) != 0;
}

bool LimitReader::read_group_number(const CgroupFiles& files, std::string_view group, const char* file,
                                    uint64_t& number) {
  if (!read_file(roots_.cgroup, files.mount, group, file)) return false;
  char* end = nullptr;
  number = strtoull(text_, &end, 10);
  return end != text_;  // "max" is no number
}

void LimitReader::read_group(const CgroupFiles& files, std::string_view group, SystemMemory& memory) {
  uint64_t used = 0, limit = 0;
  if (!read_group_number(files, group, files.current, used)) return;
  if (memory.cgroup_current == 0) memory.cgroup_current = used;
  if (!read_group_number(files, group, files.limit, limit) || limit == 0 || limit >= kNoLimit) return;
  if (memory.cgroup_lowest_limit == 0 || limit < memory.cgroup_lowest_limit) memory.cgroup_lowest_limit = limit;

  uint64_t reclaimable = 0;
  if (read_file(roots_.cgroup, files.mount, group, "memory.stat")) {
    for (const char* key : files.reclaimable) {
      uint64_t bytes = 0;
      if (key != nullptr && find_number(text_, key, bytes)) reclaimable += bytes;
    }
  }
  const LimitState state = state_of(limit, used - std::min(used, reclaimable));
  if (!memory.cgroup.is_set() || state.left < memory.cgroup.left) memory.cgroup = state;
}

// From the group up to the mount's root, which is "".
void LimitReader::read_groups_from(const CgroupFiles& files, const char* path, SystemMemory& memory) {
  std::string_view group = path;
  if (group == "/" || group.find("/..") != group.npos) group = {};  // the latter: outside of what is mounted here
  for (;;) {
    read_group(files, group, memory);
    if (group.empty()) return;
    const size_t slash = group.rfind('/');
    group = group.substr(0, slash == group.npos ? 0 : slash);
  }
}

// Lines "id:controllers:/path"; version 2 has id 0 and no controllers.
void LimitReader::read_cgroups(SystemMemory& memory) {
  if (!read_file(roots_.proc, "/self", "", "cgroup")) return;
  memcpy(groups_, text_, sizeof(groups_));
  char* save = nullptr;
  for (char* line = strtok_r(groups_, "\n", &save); line != nullptr; line = strtok_r(nullptr, "\n", &save)) {
    char* controllers = strchr(line, ':');
    char* group = controllers != nullptr ? strchr(controllers + 1, ':') : nullptr;
    if (group == nullptr) continue;
    *group++ = 0;
    *controllers++ = 0;
    if (strcmp(line, "0") == 0 && *controllers == 0) {
      read_groups_from(kVersion2, group, memory);
      read_groups_from(kVersion2BesideVersion1, group, memory);
    } else if (names_memory(controllers)) {
      read_groups_from(kVersion1, group, memory);
    }
  }
}

void LimitReader::read_machine(SystemMemory& memory) {
  uint64_t total = 0, available = 0;
  if (!read_file(roots_.proc, "", "", "meminfo") || !kibibytes_after(text_, "MemTotal:", total) ||
      !kibibytes_after(text_, "MemAvailable:", available)) {
    return;
  }
  memory.machine = {total, available};
}

void LimitReader::read_status(const ResourceLimits& resource_limits, SystemMemory& memory) {
  if (!read_file(roots_.proc, "/self", "", "status")) return;
  kibibytes_after(text_, "VmRSS:", memory.resident);
  kibibytes_after(text_, "VmHWM:", memory.resident_peak);
  uint64_t swapped = 0, size = 0, data = 0;
  if (!kibibytes_after(text_, "RssAnon:", memory.touched)) memory.touched = memory.resident;  // before Linux 4.5
  kibibytes_after(text_, "VmSwap:", swapped);
  memory.touched += swapped;
  if (resource_limits.address_space != 0 && kibibytes_after(text_, "VmSize:", size)) {
    memory.address_space = state_of(resource_limits.address_space, size);
  }
  if (resource_limits.data != 0 && kibibytes_after(text_, "VmData:", data)) {
    memory.data = state_of(resource_limits.data, data);
  }
}

SystemMemory LimitReader::read(const ResourceLimits& resource_limits) {
  const int saved_errno = errno;
  SystemMemory memory;
  with_private_descriptors([&] {  // all files at one go
    read_status(resource_limits, memory);
    read_machine(memory);
    read_cgroups(memory);
  });
  memory.shared_memory = shared_memory(roots_.shared_memory);
  errno = saved_errno;
  return memory;
}

}  // namespace tensorscope
