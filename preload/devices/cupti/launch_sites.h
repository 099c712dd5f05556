// SPDX-License-Identifier: Apache-2.0
// From a call's correlation id, as CUPTI gives it to the call and to all that comes of it on the device, to the place
// in the program that made the call.
//
// Context: hook (note, in the thread that calls CUDA), CUPTI's thread (find). Lock-free, fixed in size: a place is kept
// until kSlots further calls have been made, a record that comes later has no site.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/ids.h"

namespace tensorscope::cupti {

class LaunchSites {
 public:
  static constexpr size_t kSlots = size_t{1} << 18;

  constexpr LaunchSites() = default;

  bool start();  // false: no memory
  bool knows(uint32_t correlation) const;
  void note(uint32_t correlation, SiteId site);
  // 0: not known, or not any more.
  SiteId find(uint32_t correlation) const;

 private:
  std::atomic<uint64_t>* slots_ = nullptr;  // correlation in the high half, site in the low one
};

extern LaunchSites g_launch_sites;

inline bool LaunchSites::knows(uint32_t correlation) const {
  return slots_[correlation & (kSlots - 1)].load(std::memory_order_relaxed) >> 32 == correlation;
}
inline void LaunchSites::note(uint32_t correlation, SiteId site) {
  slots_[correlation & (kSlots - 1)].store(uint64_t{correlation} << 32 | site, std::memory_order_relaxed);
}
inline SiteId LaunchSites::find(uint32_t correlation) const {
  const uint64_t slot = slots_[correlation & (kSlots - 1)].load(std::memory_order_relaxed);
  return slot >> 32 == correlation ? SiteId(slot) : 0;
}

}  // namespace tensorscope::cupti
