// SPDX-License-Identifier: Apache-2.0
// What the system lets this process have: its control groups, the machine and its own resource limits, and how much is
// left under each.
//
// Control groups: version 1 and 2, the group of the process and all above it; a container's own view (a group that is
// not below the mount) is the mount's root. File pages count as left: the kernel takes them back before it kills.
//
// Context: any but signal handlers; no malloc, no cancellation point. One thread at a time an object.
#pragma once

#include <limits.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tensorscope {

// = format::MemoryLimit
enum class SystemLimit : uint8_t {
  none = 0,
  device = 1,
  cgroup = 2,
  machine = 3,
  address_space = 4,
  data = 5,
  shared_memory = 6
};

struct LimitState {
  uint64_t limit = 0;  // bytes; 0: there is none, or it is not known
  uint64_t left = 0;
  bool is_set() const { return limit != 0; }
};

struct SystemMemory {
  uint64_t resident = 0, resident_peak = 0;
  uint64_t touched = 0;              // anonymous memory that this process has in use, swapped or not
  uint64_t cgroup_current = 0;       // of the group itself
  uint64_t cgroup_lowest_limit = 0;  // of the group and those above
  LimitState cgroup;                 // of these, the one with the least left
  LimitState machine;                // MemTotal, MemAvailable; swap is not counted
  LimitState address_space;          // RLIMIT_AS, VmSize
  LimitState data;                   // RLIMIT_DATA, VmData
  LimitState shared_memory;          // of the file system /dev/shm
  uint64_t shared_mapped = 0;        // bytes of its files that this process has mapped; 0 also where nobody has looked

  const LimitState* find(SystemLimit limit) const;
};

// What uses a limit up.
enum class UsedBy : uint8_t {
  touched_memory,  // of many processes; what is allocated and not yet touched will be
  mapped_memory,   // of this process
  files            // of many processes, in shared memory
};

// The limits that are watched, each with the words for it.
struct WatchedLimit {
  SystemLimit limit;
  LimitState SystemMemory::*state;
  UsedBy used_by;
  const char* name;
  const char* amount;  // "the AMOUNT: 10 GiB"
  const char* place;   // "1 MiB is left PLACE"
  const char* is_low;
};
inline constexpr char kSharedMemoryFolder[] = "/dev/shm";  // as DataLoader's workers and torch.multiprocessing use it
inline constexpr WatchedLimit kWatchedLimits[] = {
    {SystemLimit::cgroup, &SystemMemory::cgroup, UsedBy::touched_memory, "control group", "memory of the cgroup",
     "in the control group", "little memory is left in the control group"},
    {SystemLimit::machine, &SystemMemory::machine, UsedBy::touched_memory, "machine", "memory of the machine",
     "on the machine", "little memory is left on the machine"},
    {SystemLimit::address_space, &SystemMemory::address_space, UsedBy::mapped_memory, "RLIMIT_AS",
     "address space (ulimit -v)", "of the address space (RLIMIT_AS)", "little address space is left (RLIMIT_AS)"},
    {SystemLimit::data, &SystemMemory::data, UsedBy::mapped_memory, "RLIMIT_DATA", "data of the process (ulimit -d)",
     "of RLIMIT_DATA", "little is left of RLIMIT_DATA"},
    {SystemLimit::shared_memory, &SystemMemory::shared_memory, UsedBy::files, kSharedMemoryFolder,
     "shared memory (/dev/shm)", "in /dev/shm", "little shared memory is left in /dev/shm"}};
inline constexpr size_t kWatchedLimitsCount = sizeof(kWatchedLimits) / sizeof(*kWatchedLimits);
// Null: of no such limit.
constexpr const WatchedLimit* find_watched(SystemLimit limit) {
  for (const WatchedLimit& watched : kWatchedLimits) {
    if (watched.limit == limit) return &watched;
  }
  return nullptr;
}

// How large the file system of shared memory is, and what is left. Not set: there is none, or it is not known.
LimitState shared_memory(const char* folder = kSharedMemoryFolder);

// How many more bytes this process may map under RLIMIT_AS; UINT64_MAX: any, or it is not known. Short.
uint64_t address_space_left();
// Whether so little is left that nothing may be taken beforehand: for a reserve, for a thread of our own, for which
// malloc maps 64 MiB. The import of torch alone takes some 500 MiB.
bool address_space_is_tight();

class LimitReader {
 public:
  struct Roots {
    const char* proc = "/proc";
    const char* cgroup = "/sys/fs/cgroup";
    const char* shared_memory = kSharedMemoryFolder;
  };
  // Bytes, as getrlimit() reports them; 0: no limit.
  struct ResourceLimits {
    uint64_t address_space = 0, data = 0;
    static ResourceLimits of_this_process();
  };

  constexpr LimitReader() = default;
  constexpr explicit LimitReader(const Roots& roots) : roots_(roots) {}

  SystemMemory read() { return read(ResourceLimits::of_this_process()); }
  SystemMemory read(const ResourceLimits& resource_limits);

 private:
  struct CgroupFiles;
  void read_status(const ResourceLimits& resource_limits, SystemMemory& memory);
  void read_machine(SystemMemory& memory);
  void read_cgroups(SystemMemory& memory);
  void read_groups_from(const CgroupFiles& files, const char* group, SystemMemory& memory);
  void read_group(const CgroupFiles& files, std::string_view group, SystemMemory& memory);
  // What is read is in text_. False: nothing was.
  bool read_file(const char* root, const char* folder, std::string_view group, const char* file);
  bool read_group_number(const CgroupFiles& files, std::string_view group, const char* file, uint64_t& number);

  static const CgroupFiles kVersion1, kVersion2, kVersion2BesideVersion1;

  Roots roots_;
  char path_[PATH_MAX] = "";
  char groups_[8192] = "";  // of /proc/self/cgroup
  char text_[8192] = "";    // of the file read last
};

}  // namespace tensorscope
