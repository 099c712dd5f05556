// SPDX-License-Identifier: Apache-2.0
// Devices that were seen, each with its bytes, their peak, and what the device's own allocator last reported.
//
// Context: hook, collector. Lock-free. `bytes_made` and `bytes_gone` are called under the lock of the allocation's
// shard.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/ids.h"
#include "support/raise_to.h"

namespace tensorscope::live {

using DeviceSlot = uint8_t;

class DeviceTable {
 public:
  static constexpr DeviceSlot kCpu = 0;
  static constexpr size_t kSlots = 64;
  static constexpr DeviceSlot kNone = 255;

  struct alignas(64) Row {
    std::atomic<uint32_t> name;  // 1 + type and index; 0: the slot is free
    std::atomic<uint64_t> bytes_live, bytes_peak;
    std::atomic<uint64_t> peak_since;    // since who watches the calls of modules last lowered it
    std::atomic<uint64_t> bytes_mapped;  // of those live: memory that is a file's, or shared
    std::atomic<uint64_t> look_above{UINT64_MAX};
    std::atomic<uint64_t> peak_of_moment;  // since the last point of the history (history.h)
    std::atomic<uint64_t> new_peak_above;  // peak.h
    std::atomic<bool> used_here;           // by this process, not only by the one it was forked from
    std::atomic<uint64_t> reported_allocated, reported_reserved, reported_reserved_peak;
  };

  constexpr DeviceTable() = default;

  // The device's slot, made where it is new; kNone when all are taken. The CPU is always kCpu.
  DeviceSlot slot(Device device);
  Device device(DeviceSlot slot) const;
  bool used(DeviceSlot slot) const { return slot == kCpu || row(slot).name.load(std::memory_order_acquire) != 0; }
  const Row& row(DeviceSlot slot) const { return rows_[slot]; }

  void mark_used_here(DeviceSlot slot) {
    if (!rows_[slot].used_here.load(std::memory_order_relaxed)) {
      rows_[slot].used_here.store(true, std::memory_order_relaxed);
    }
  }
  // In a forked child: what is live stays, peaks begin with it, and no device is used here yet.
  void begin_in_child();

  void bytes_made(DeviceSlot slot, uint64_t nbytes) {
    const uint64_t live = rows_[slot].bytes_live.fetch_add(nbytes, std::memory_order_relaxed) + nbytes;
    fetch_max(rows_[slot].bytes_peak, live);
    fetch_max(rows_[slot].peak_since, live);
    fetch_max(rows_[slot].peak_of_moment, live);
  }
  void bytes_gone(DeviceSlot slot, uint64_t nbytes) {
    rows_[slot].bytes_live.fetch_sub(nbytes, std::memory_order_relaxed);
  }
  void mapped_made(DeviceSlot slot, uint64_t nbytes) {
    rows_[slot].bytes_mapped.fetch_add(nbytes, std::memory_order_relaxed);
  }
  void mapped_gone(DeviceSlot slot, uint64_t nbytes) {
    rows_[slot].bytes_mapped.fetch_sub(nbytes, std::memory_order_relaxed);
  }
  void reported(DeviceSlot slot, uint64_t allocated, uint64_t reserved);

  // Whether more is live than who watches growth wants to know of; every slot has a mark of its own, used or not.
  bool grown(DeviceSlot slot) const {
    return row(slot).bytes_live.load(std::memory_order_relaxed) > row(slot).look_above.load(std::memory_order_relaxed);
  }
  // A mark that rises with the live bytes, for a time that the caller begins: returns the mark so far.
  uint64_t lower_peak_since(DeviceSlot slot, uint64_t bytes) {
    return rows_[slot].peak_since.exchange(bytes, std::memory_order_relaxed);
  }
  uint64_t begin_peak_of_moment(DeviceSlot slot, uint64_t bytes) {
    return rows_[slot].peak_of_moment.exchange(bytes, std::memory_order_relaxed);
  }
  // Whether more is live than at the last peak whose sites are known, by enough to look again.
  bool perhaps_new_peak(DeviceSlot slot) const {
    return row(slot).bytes_live.load(std::memory_order_relaxed) >
           row(slot).new_peak_above.load(std::memory_order_relaxed);
  }
  void new_peak_above(DeviceSlot slot, uint64_t bytes) {
    rows_[slot].new_peak_above.store(bytes, std::memory_order_relaxed);
  }

  void look_above(DeviceSlot slot, uint64_t bytes) { rows_[slot].look_above.store(bytes, std::memory_order_relaxed); }

 private:
  Row rows_[kSlots] = {};
};

extern DeviceTable g_devices;

}  // namespace tensorscope::live
