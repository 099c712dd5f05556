// SPDX-License-Identifier: Apache-2.0
#include "live/allocation_table.h"

#include "live/serials.h"
#include "live/site_table.h"
#include "support/coverage.h"

namespace tensorscope::live {

constinit AllocationTable g_allocations;

void count_missed_of(AllocationKind kind) {
  switch (kind) {
    case AllocationKind::heap:
      return count_missed(Subject::cpu_memory);
    case AllocationKind::mapped:
      return count_missed(Subject::mapped_memory);
    case AllocationKind::caching:
    case AllocationKind::runtime:
      return count_missed(Subject::cuda_memory);
  }
}

FreedAllocation AllocationTable::remove(const void* pointer, AllocationKind kind, DeviceSlot device) {
  const void* const address = key(pointer, device);
  NodeId no_longer_referred = 0;
  FreedAllocation freed;
  {
    Table::Guard guard(table_, address);
    if (!guard) return freed;
    const Table::Position place = guard.find(address);
    if (place.row == nullptr || place.row->kind != uint32_t(kind)) return freed;
    freed.removed = {place.row->serial.load(std::memory_order_relaxed), newest_serial()};
    no_longer_referred = account_gone(guard.shard(), *place.row);
    freed.site = place.row->site;
    freed.nbytes = place.row->nbytes;
    freed.in_backward = place.row->in_backward;
    guard.erase(place);
  }
  if (no_longer_referred != 0) g_nodes.drop(no_longer_referred);
  return freed;
}

AllocationReference AllocationTable::find(const void* pointer, DeviceSlot device) {
  const void* const address = key(pointer, device);
  Table::Guard guard(table_, address);
  const AllocationRow* const row = guard ? guard.find(address).row : nullptr;
  return row ? AllocationReference{row->serial.load(std::memory_order_relaxed), row->nbytes} : AllocationReference{};
}

NodeId AllocationTable::account_gone(unsigned shard, const AllocationRow& row) {
  ShardTotals& totals = totals_[shard][row.device];
  totals.removed += 1;
  totals.bytes_gone += row.nbytes;
  g_devices.bytes_gone(row.device, row.nbytes);
  if (row.kind == uint32_t(AllocationKind::mapped)) g_devices.mapped_gone(row.device, row.nbytes);
  g_sites.allocation_gone(row.site, row.nbytes);
  return row.node;
}

void AllocationTable::begin_in_child() {
  for (auto& shard : totals_) {
    for (ShardTotals& totals : shard) {
      totals.made -= totals.removed;
      totals.removed = 0;
      totals.add_bytes(-totals.bytes_gone);
      totals.bytes_gone = 0;
    }
  }
}

uint64_t AllocationTable::bytes_made(DeviceSlot device) const {
  uint64_t sum = 0;
  for (const auto& shard : totals_) sum += shard[device].bytes.load(std::memory_order_relaxed);
  return sum;
}

void AllocationTable::copy(AllocationEntry* out) const {
  table_.for_each([&out](const AllocationRow& row, uint32_t) {
    AllocationEntry& entry = *out++;
    entry.pointer = key(row.key, row.device);
    entry.nbytes = row.nbytes;
    entry.serial = row.serial.load(std::memory_order_relaxed);
    entry.created_ns = row.created_ns;
    entry.node = g_nodes.serial(row.node);
    entry.site = row.site;
    entry.thread = row.thread;
    entry.kind = row.kind;
    entry.device = g_devices.device(row.device);
  });
}

size_t AllocationTable::copy_totals(DeviceTotals* out) const {
  size_t count = 0;
  for (DeviceSlot slot = 0; slot < DeviceTable::kSlots && g_devices.used(slot); ++slot) {
    DeviceTotals& total = out[count++];
    total = {};
    total.device = g_devices.device(slot);
    for (const auto& shard : totals_) {
      total.total_count += shard[slot].made;
      total.total_bytes += shard[slot].bytes.load(std::memory_order_relaxed);
      total.live_count += shard[slot].made - shard[slot].removed;
    }
    const DeviceTable::Row& row = g_devices.row(slot);
    total.used_here = row.used_here.load(std::memory_order_relaxed);
    total.live_bytes = row.bytes_live.load(std::memory_order_relaxed);
    total.peak_bytes = row.bytes_peak.load(std::memory_order_relaxed);
    total.allocator_allocated = row.reported_allocated.load(std::memory_order_relaxed);
    total.allocator_reserved = row.reported_reserved.load(std::memory_order_relaxed);
    total.allocator_reserved_peak = row.reported_reserved_peak.load(std::memory_order_relaxed);
  }
  return count;
}

}  // namespace tensorscope::live
