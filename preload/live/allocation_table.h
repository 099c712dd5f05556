// SPDX-License-Identifier: Apache-2.0
// Every live allocation that a tensor's storage may be made of: c10's CPU allocator, mapped and shared memory, caching
// allocators of devices; and exact totals for each device.
//
// Context: hook, collector. An event holds one shard's lock for well under a microsecond. The key is (pointer, device):
// the same number may be a pointer on two devices.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "live/address_table.h"
#include "live/device_table.h"
#include "live/entries.h"
#include "live/node_table.h"
#include "live/serials.h"
#include "live/site_table.h"
#include "live/tensor_table.h"
#include "support/ids.h"

namespace tensorscope::live {

enum class AllocationKind : uint8_t { heap = 0, mapped = 1, caching = 2, runtime = 3 };  // = format::

struct AllocationRow : AddressRow {
  uint64_t nbytes;
  uint64_t created_ns;
  SiteId site;
  NodeId node;  // holds a reference
  uint32_t thread : 24;
  uint32_t kind : 8;
  DeviceSlot device;
  bool in_backward;
  bool indexed() const { return true; }
};
static_assert(sizeof(AllocationRow) == 48);

struct NewAllocation {
  const void* pointer;
  uint64_t nbytes;
  AllocationKind kind;
  DeviceSlot device;
  NodeId node;               // the caller's reference becomes the table's
  bool in_backward = false;  // a node ran, which need not be in the table
};

struct FreedAllocation {
  Removed removed;  // serial 0: no allocation of this kind was at the pointer
  SiteId site = 0;
  uint64_t nbytes = 0;
  bool in_backward = false;
};

struct AllocationReference {
  Serial serial = 0;  // 0: none
  uint64_t nbytes = 0;
};

class AllocationTable {
 public:
  constexpr AllocationTable() = default;

  // An entry that is still there is replaced: its end was missed. Serial 0: no memory, no lock.
  Inserted add(const NewAllocation& made, const Origin& origin);
  FreedAllocation remove(const void* pointer, AllocationKind kind, DeviceSlot device);
  bool contains(const void* pointer, DeviceSlot device) { return find(pointer, device).serial != 0; }
  AllocationReference find(const void* pointer, DeviceSlot device);

  // That were allocated on the device so far. Lock-free.
  uint64_t bytes_made(DeviceSlot device) const;

  void prefetch(const void* pointer, DeviceSlot device) { table_.prefetch(key(pointer, device)); }
  bool lock_all() { return table_.lock_all(); }
  void unlock_all() { table_.unlock_all(); }
  size_t size() const { return table_.size(); }
  // In a forked child: totals begin with what is live.
  void begin_in_child();
  // Under lock_all(), the node table's too: writes size() entries, in no order.
  void copy(AllocationEntry* out) const;
  // Under lock_all(). Writes one row for each device that was used; returns how many (at most DeviceTable::kSlots).
  size_t copy_totals(DeviceTotals* out) const;

 private:
  using Table = AddressTable<AllocationRow>;
  // Changed under the lock of the shard of this number, so plain words; but who reads `bytes` needs no lock.
  struct ShardTotals {
    uint64_t made, removed;
    std::atomic<uint64_t> bytes;
    uint64_t bytes_gone;
    void add_bytes(uint64_t nbytes) {
      bytes.store(bytes.load(std::memory_order_relaxed) + nbytes, std::memory_order_relaxed);
    }
  };

  // The top byte, which no user address uses, tells pointers of different devices apart.
  static const void* key(const void* pointer, DeviceSlot device) {
    return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(pointer) ^ uintptr_t{device} << 56);
  }
  NodeId account_gone(unsigned shard, const AllocationRow& row);

  Table table_;
  ShardTotals totals_[Table::kShards][DeviceTable::kSlots] = {};
};

extern AllocationTable g_allocations;

// An event of which no row could be made, or whose end was missed.
void count_missed_of(AllocationKind kind);

// At one place: so it becomes a part of the event, which fetches fewer cache lines then.
[[gnu::always_inline]] inline Inserted AllocationTable::add(const NewAllocation& made, const Origin& origin) {
  const void* const address = key(made.pointer, made.device);
  NodeId no_longer_referred = 0;
  Inserted result;
  {
    Table::Guard guard(table_, address);
    if (!guard) return result;
    Table::Position place = guard.find_new(address);
    if (__builtin_expect(place.row != nullptr, false)) {
      result.replaced = place.row->serial.load(std::memory_order_relaxed);
      no_longer_referred = account_gone(guard.shard(), *place.row);
      count_missed_of(made.kind);
    } else if (__builtin_expect(guard.insert(address, place) == nullptr, false)) {
      count_missed_of(made.kind);
      no_longer_referred = made.node;
    }
    if (__builtin_expect(place.row != nullptr, true)) {
      AllocationRow& row = *place.row;
      row.nbytes = made.nbytes;
      row.created_ns = origin.ns;
      row.site = origin.site;
      row.node = made.node;
      row.thread = origin.thread;
      row.kind = uint32_t(made.kind);
      row.device = made.device;
      row.in_backward = made.in_backward;
      result.serial = next_serial();
      row.serial.store(result.serial, std::memory_order_relaxed);
      ShardTotals& totals = totals_[guard.shard()][made.device];
      totals.made += 1;
      totals.add_bytes(made.nbytes);
      if (made.kind == AllocationKind::mapped) g_devices.mapped_made(made.device, made.nbytes);
      g_devices.bytes_made(made.device, made.nbytes);
      g_sites.allocation_made(origin.site, made.nbytes);
    }
  }
  if (no_longer_referred != 0) g_nodes.drop(no_longer_referred);
  return result;
}

}  // namespace tensorscope::live
