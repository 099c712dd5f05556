// SPDX-License-Identifier: Apache-2.0
// Which failures lead to a dump: a program that catches the exception and tries again may fail a thousand times.
//
// Context: the failing thread; any number of them. One bounded spin lock, no allocation. Constinit, never destroyed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/ids.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::oom {

class FailureLimits {
 public:
  struct Settings {
    uint32_t most_dumps;   // in all; 0: none
    uint64_t interval_ns;  // at one site, from dump to dump
  };
  struct Counts {
    uint64_t failures = 0;      // this one included
    uint64_t without_dump = 0;  // likewise
  };

  constexpr FailureLimits() = default;

  // Counts one failure at a site. True: it is to have a dump. `now_ns` is any clock that does not go back.
  bool count(SiteId site, uint64_t now_ns, const Settings& settings, Counts& counts);
  // False: no failure will have a dump any more.
  bool more(const Settings& settings);

 private:
  // The latest dumps. Where there are more sites than rows the oldest is forgotten.
  struct Dumped {
    SiteId site;
    uint64_t ns;
  };
  static constexpr size_t kRows = 64;

  bool too_soon(SiteId site, uint64_t now_ns, uint64_t interval_ns) const REQUIRES(lock_);

  SpinLock lock_;
  Counts counts_ GUARDED_BY(lock_);
  uint32_t dumps_ GUARDED_BY(lock_) = 0;
  Dumped rows_[kRows] GUARDED_BY(lock_) = {};
};

extern FailureLimits g_failure_limits;

}  // namespace tensorscope::oom
