// SPDX-License-Identifier: Apache-2.0
// Physical memory that is allocated apart from addresses (cuMemCreate: NCCL's buffers, torch's expandable segments),
// kept by the calls themselves, since CUPTI's memory records cover only calls that return an address. It lives until
// its handle is released as often as it was taken and nothing is mapped to it any more.
//
// Context: hook, in the thread that calls the driver (the calls' ends); collector (copy). One spin lock, no malloc.
// Bounded: kRows pieces and as many mappings; what finds no room is counted. Bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/cupti/cupti_api.h"
#include "devices/cupti/memory_activity.h"
#include "support/ids.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::cupti {

// Calls of the driver (cupti_driver_cbid.h, CUDA 12.4 and 13.0).
enum class VirtualCall : uint32_t { create = 549, release = 550, map = 551, unmap = 552, retain = 565 };
bool is_virtual_call(Domain domain, uint32_t call);

// In place of a site: what CUPTI may record of such a call is known already.
inline constexpr SiteId kKnownFromTheCall = UINT32_MAX;

class VirtualMemory {
 public:
  static constexpr size_t kRows = size_t{1} << 17;

  constexpr VirtualMemory() = default;

  // False: no memory. Nothing is recorded before.
  bool start() NO_THREAD_SAFETY_ANALYSIS;
  void created(uint64_t handle, uint64_t nbytes, int8_t device, SiteId site, uint64_t at_ns);
  void retained(uint64_t handle);
  void released(uint64_t handle);
  void mapped(uint64_t address, uint64_t nbytes, uint64_t handle);
  void unmapped(uint64_t address, uint64_t nbytes);

  size_t live() const;
  // At most `room` rows; at_ns is the monotonic clock, address where it is mapped (the first mapping), 0 where it is
  // not.
  size_t copy(MemoryEvent* out, size_t room) const;
  uint64_t lost() const;
  void forget_in_child() NO_THREAD_SAFETY_ANALYSIS;  // one thread

 private:
  struct Piece {
    uint64_t key = 0;  // handle
    uint64_t nbytes = 0, at_ns = 0, address = 0;
    SiteId site = 0;
    uint32_t handles = 0, mappings = 0;
    int8_t device = -1;
  };
  struct Mapping {
    uint64_t key = 0;  // address
    uint64_t nbytes = 0, handle = 0;
  };
  // Open addressing; no key is 0.
  template <typename Row>
  struct Table {
    Row* rows = nullptr;
    size_t used = 0;

    Row* find(uint64_t key) const;
    Row* add(uint64_t key);  // null: no room
    void remove(Row* row);
  };

  void drop_unused(Piece* piece) REQUIRES(lock_);

  Table<Piece> pieces_ GUARDED_BY(lock_);
  Table<Mapping> mappings_ GUARDED_BY(lock_);
  uint64_t lost_ GUARDED_BY(lock_) = 0;
  mutable SpinLock lock_;
};

extern VirtualMemory g_virtual_memory;

// The end of such a call: notes what it did, where it succeeded.
void virtual_call_ended(uint32_t call, const CallData& data, SiteId site);

}  // namespace tensorscope::cupti
