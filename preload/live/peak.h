// SPDX-License-Identifier: Apache-2.0
// What was alive at the highest peak so far, by allocation site.
//
// Live bytes are those of all devices together. A thread whose allocation makes them 1 % more than at the last peak
// that was kept (64 KiB more at least) keeps this one: it counts the peaks, and from then on the first event of each
// site leaves the site's counters as they were at the peak (site_table.h). So nothing is copied and no thread waits;
// the counters are those of the very moment, unless other threads allocate or free at it. What is kept is less than the
// true peak by 1 % at most, where several devices are in use by 1.5 %.
//
// Of what was alive then and is freed later, the site adds up how it was freed (PeakEnd): by that a dump infers what it
// was for, when nothing of it is left.
//
// Context: keep_new_peak(), peak_serial() hook; kept_peak() collector.
#pragma once

#include <cstddef>
#include <cstdint>

#include "live/device_table.h"
#include "live/step_count.h"
#include "support/ids.h"

namespace tensorscope::live {

struct KeptPeak {
  uint64_t ns = 0;  // 0: there is none
  StepCount steps;  // that had ended
  uint64_t bytes = 0;
  uint64_t devices[DeviceTable::kSlots] = {};  // bytes live on each, by slot
};

// After an allocation where DeviceTable::perhaps_new_peak() is true. The allocation is in the tables.
void keep_new_peak();
// The newest serial when it was kept: what is older and not freed was alive then. 0: there is none.
Serial peak_serial();
// Under all table locks, of which this is one: it agrees with the sites' counters.
KeptPeak kept_peak();
bool lock_peak();
void unlock_peak();

// In a forked child: the first peak is what is alive.
void begin_peak_in_child();

}  // namespace tensorscope::live
