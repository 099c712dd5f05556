// SPDX-License-Identifier: Apache-2.0
// What ran on the devices, counted by site: kernels, copies and fills, with
// bytes and the time they took.
//
// Context: CUPTI's thread (count), collector (copy). One spin lock. Bounded: kSites sites; what finds no room counts
// for site 0. Bytes and nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/ids.h"
#include "support/locks/spin_lock.h"
#include "tensorscope/rules/launch_sums.h"

namespace tensorscope::cupti {

struct LaunchCounts : rules::LaunchSums {
  SiteId site = 0;
  uint32_t used = 0;
};

class LaunchTable {
 public:
  static constexpr size_t kSites = size_t{1} << 16;

  constexpr LaunchTable() = default;

  // False: no memory. Nothing counts before.
  bool start() NO_THREAD_SAFETY_ANALYSIS;
  void count(SiteId site, const LaunchCounts& more);
  // Copies the counts of the sites, at most `room` of them; returns how many.
  size_t copy(LaunchCounts* out, size_t room) const;
  size_t size() const;
  void forget_in_child() NO_THREAD_SAFETY_ANALYSIS;  // one thread

 private:
  static constexpr size_t kMaxUsed = kSites / 4 * 3;

  LaunchCounts* rows_ GUARDED_BY(lock_) = nullptr;
  size_t used_ GUARDED_BY(lock_) = 0;
  mutable SpinLock lock_;
};

extern LaunchTable g_launches;

}  // namespace tensorscope::cupti
