// SPDX-License-Identifier: Apache-2.0
// Live allocations of the driver, by address, from CUPTI's memory records: of the whole process,
// whoever asked for it.
//
// Records of several threads arrive out of order: of two about one address the later one counts, so a release that
// comes before its allocation is remembered until the buffers that may hold that allocation have come.
//
// Context: CUPTI's thread (record), collector (copy). One spin lock. Bounded: a table of kRows rows; what finds no room
// is counted. Bytes; `*_ns` is CUPTI's clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cupti/cupti_api.h"
#include "support/ids.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::cupti {

enum class MemoryState : uint8_t {
  live = 0,
  released = 1,
  released_early = 2  // its allocation has not come, or was before the records began
};

// Beside the kinds of CUpti_ActivityMemoryKind (0 to 7): virtual_memory.h.
inline constexpr uint8_t kPhysicalMemory = 8;

struct MemoryEvent {
  uint64_t address = 0;
  uint64_t nbytes = 0;
  uint64_t at_ns = 0;
  uint32_t context = 0;
  uint32_t stream = 0;
  uint32_t process = 0;
  uint32_t correlation = 0;
  SiteId site = 0;
  uint8_t kind = 0;  // CUpti_ActivityMemoryKind
  int8_t device = -1;
  uint8_t asynchronous = 0;
  MemoryState state = MemoryState::live;
};

struct MemoryTotals {
  uint64_t allocations = 0;
  uint64_t releases = 0;
  uint64_t unknown_releases = 0;  // of memory taken before the records began
  uint64_t lost = 0;              // no room in the table
};

class MemoryActivity {
 public:
  static constexpr size_t kRows = size_t{1} << 17;

  constexpr MemoryActivity() = default;

  // False: no memory. Nothing is recorded before.
  bool start() NO_THREAD_SAFETY_ANALYSIS;
  void record(const MemoryEvent& event);
  // Copies what is alive, at most `room` rows; returns how many. All records that CUPTI holds have come (a
  // flush): releases without an allocation are forgotten and counted.
  size_t copy(MemoryEvent* out, size_t room, MemoryTotals& totals);
  size_t live() const;
  void forget_in_child() NO_THREAD_SAFETY_ANALYSIS;  // one thread

 private:
  static constexpr size_t kMaxUsed = kRows / 4 * 3;
  static constexpr size_t kWorthRemoving = kRows / 16;  // releases, of the copy that it costs

  size_t slot_of(uint64_t address) const REQUIRES(lock_);
  void remove_releases() REQUIRES(lock_);

  MemoryEvent* rows_ GUARDED_BY(lock_) = nullptr;
  size_t used_ GUARDED_BY(lock_) = 0;  // rows taken, released ones included
  size_t live_ GUARDED_BY(lock_) = 0;
  MemoryTotals totals_ GUARDED_BY(lock_);
  mutable SpinLock lock_;
};

extern MemoryActivity g_memory;

}  // namespace tensorscope::cupti
