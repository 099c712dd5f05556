// SPDX-License-Identifier: Apache-2.0
// What was launched on devices: kernels, copies and fills, with their bytes and the nanoseconds that they took there.
#pragma once

#include <cstdint>

namespace tensorscope::rules {

struct LaunchSums {
  uint64_t kernels = 0, kernel_ns = 0;
  uint64_t copies = 0, copied_bytes = 0, copy_ns = 0;
  uint64_t to_device_bytes = 0, to_host_bytes = 0;  // of copied_bytes
  uint64_t fills = 0, filled_bytes = 0, fill_ns = 0;

  void add(const LaunchSums& other) {
    kernels += other.kernels;
    kernel_ns += other.kernel_ns;
    copies += other.copies;
    copied_bytes += other.copied_bytes;
    copy_ns += other.copy_ns;
    to_device_bytes += other.to_device_bytes;
    to_host_bytes += other.to_host_bytes;
    fills += other.fills;
    filled_bytes += other.filled_bytes;
    fill_ns += other.fill_ns;
  }
};

}  // namespace tensorscope::rules
