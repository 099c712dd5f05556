// What the system lets this process have: its control groups, the machine and its own resource limits, and how much is
// left under each.
//
// Control groups: version 1 and 2, the group of the process and all above it; a container's own view (a group that is
// not below the mount) is the mount's root. File pages count as left: the kernel takes them back before it kills.
//
// Context: any but signal handlers; no malloc, no cancellation point. One thread at a time an object.
#pragma once

#include <limits.h>

#include <cstdint>
#include <string_view>

namespace tensorscope {

// = format::MemoryLimit
enum class SystemLimit : uint8_t { none = 0, device = 1, cgroup = 2, machine = 3, address_space = 4, data = 5 };

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

  const LimitState* find(SystemLimit limit) const;
};

// Of the file system that shared memory lies in, as DataLoader's workers and torch.multiprocessing use it. Not set:
// there is none, or it is not known.
inline constexpr char kSharedMemoryFolder[] = "/dev/shm";
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
