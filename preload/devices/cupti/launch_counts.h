// What ran on the devices, counted for each place in the program that asked for it: kernels, copies and fills, with
// bytes and the time they took.
//
// Context: CUPTI's thread (count), collector (copy). One spin lock. Bounded: kSites places; what finds no room counts
// for site 0. Bytes and nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/ids.h"
#include "support/spin_lock.h"

namespace tensorscope::cupti {

struct LaunchCounts {
  uint64_t kernels = 0, kernel_ns = 0;
  uint64_t copies = 0, copied_bytes = 0, copy_ns = 0;
  uint64_t to_device_bytes = 0, to_host_bytes = 0;  // of copied_bytes
  uint64_t fills = 0, filled_bytes = 0, fill_ns = 0;
  SiteId site = 0;
  uint32_t used = 0;

  void add(const LaunchCounts& other);
};

class LaunchTable {
 public:
  static constexpr size_t kSites = size_t{1} << 16;

  constexpr LaunchTable() = default;

  bool start();  // false: no memory
  void count(SiteId site, const LaunchCounts& more);
  // Copies the places' counts, at most `room` of them; returns how many.
  size_t copy(LaunchCounts* out, size_t room) const;
  size_t size() const;
  void forget_in_child();

 private:
  static constexpr size_t kMostUsed = kSites / 4 * 3;

  LaunchCounts* rows_ = nullptr;
  size_t used_ = 0;
  mutable SpinLock lock_;
};

extern LaunchTable g_launches;

}  // namespace tensorscope::cupti
