// SPDX-License-Identifier: Apache-2.0
// When too little is left under a limit: a decision from numbers alone.
//
// A limit is low where less is left than the share; that is reported once, and again only after more than twice the
// share had been left. Memory that is allocated but not yet touched is counted as used by control groups and the
// machine: the program will touch it without another event. Of these two and of shared memory (/dev/shm), which
// many processes share, nothing is reported to a process that itself has less than the share in use: its picture would
// explain nothing. What a forked child has from its parent is the parent's: the parent was told.
//
// Context: any; one thread at a time. Units: bytes, milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/options.h"
#include "support/system_limits.h"

namespace tensorscope::collector {

class MemoryWatch {
 public:
  struct Verdict {
    SystemLimit low = SystemLimit::none;  // to be told now: of the limits that became low, the one with the least left
    uint64_t limit = 0, left = 0;
    uint64_t look_after = UINT64_MAX;  // this many more live bytes; MAX: there is nothing to watch
    unsigned look_within_ms = 0;       // what is not allocated by torch takes memory too; 0: there is nothing to watch
  };

  static constexpr uint64_t kMinStep = uint64_t{1} << 20;
  static constexpr unsigned kNearMs = 50, kCloserMs = 200, kFarMs = 1000;

  // `live`: bytes that this process has allocated and that become anonymous memory once touched; `pending`: of these,
  // the ones of a request that is being answered, which nobody can have touched.
  Verdict look(const SystemMemory& memory, uint64_t live, uint64_t pending, const ShareOrSize& share);

  // Before the first look of a forked child.
  void begin_in_child() { inherited_ = kNotMeasured; }

 private:
  static constexpr uint64_t kNotMeasured = UINT64_MAX;
  bool told_[kWatchedLimitsCount] = {};
  uint64_t inherited_ = 0;  // what was in use at the first look of a forked child
};

}  // namespace tensorscope::collector
