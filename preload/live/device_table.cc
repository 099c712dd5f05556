// SPDX-License-Identifier: Apache-2.0
#include "live/device_table.h"

namespace tensorscope::live {

constinit DeviceTable g_devices;

DeviceSlot DeviceTable::slot(Device device) {
  if (device.type == 0) return kCpu;
  const uint32_t name = 1 + (uint32_t(uint8_t(device.type)) << 8 | uint8_t(device.index));
  for (DeviceSlot slot = kCpu + 1; slot < kSlots; ++slot) {
    uint32_t present = rows_[slot].name.load(std::memory_order_acquire);
    if (present == 0 && rows_[slot].name.compare_exchange_strong(present, name, std::memory_order_acq_rel)) return slot;
    if (present == name) return slot;
  }
  return kNone;
}

Device DeviceTable::device(DeviceSlot slot) const {
  if (slot == kCpu) return {};
  const uint32_t packed = rows_[slot].name.load(std::memory_order_acquire) - 1;
  return {int8_t(packed >> 8), int8_t(packed)};
}

void DeviceTable::begin_in_child() {
  for (Row& row : rows_) {
    const uint64_t live = row.bytes_live.load(std::memory_order_relaxed);
    row.bytes_peak.store(live, std::memory_order_relaxed);
    row.peak_since.store(live, std::memory_order_relaxed);
    row.peak_of_moment.store(live, std::memory_order_relaxed);
    row.reported_reserved_peak.store(row.reported_reserved.load(std::memory_order_relaxed), std::memory_order_relaxed);
    row.used_here.store(false, std::memory_order_relaxed);
  }
}

void DeviceTable::reported(DeviceSlot slot, uint64_t allocated, uint64_t reserved) {
  rows_[slot].reported_allocated.store(allocated, std::memory_order_relaxed);
  rows_[slot].reported_reserved.store(reserved, std::memory_order_relaxed);
  fetch_max(rows_[slot].reported_reserved_peak, reserved);
}

}  // namespace tensorscope::live
