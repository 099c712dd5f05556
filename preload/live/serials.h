// SPDX-License-Identifier: Apache-2.0
// The one sequence of serial numbers: every tensor, allocation and node gets the next, under the lock of the shard that
// it is put into, so that under all locks "serial up to the newest" and "in the tables or already gone" are the same.
//
// Context: hook, collector.
#pragma once

#include <atomic>

#include "support/ids.h"

namespace tensorscope::live {

inline constinit std::atomic<Serial> g_newest_serial{0};

inline Serial next_serial() { return g_newest_serial.fetch_add(1, std::memory_order_relaxed) + 1; }
inline Serial newest_serial() { return g_newest_serial.load(std::memory_order_relaxed); }

// What a change of a table was, for the event log.
struct Inserted {
  Serial serial = 0;
  Serial replaced = 0;  // what stood there before, 0: nothing
};
struct Removed {
  Serial serial = 0;
  Serial order = 0;  // the newest serial under the lock: what is made later has a larger one
};

}  // namespace tensorscope::live
