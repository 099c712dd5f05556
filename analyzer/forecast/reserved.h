// SPDX-License-Identifier: Apache-2.0
// What torch's caching allocator of a device reserves for a run: its rules, gone through with the run's requests. Whole
// segments come from the driver, blocks are cut from them, and what is freed is kept for later requests.
#pragma once

#include <cstdint>

#include "forecast/replay.h"

namespace tensorscope::analyzer::forecast {

struct ReservedPeaks {
  uint64_t allocated = 0;  // as torch counts it: with the ends of blocks that were not cut off
  uint64_t reserved = 0;
};

// As its settings are by default, for one stream; with more memory than is needed, so nothing is given back.
ReservedPeaks reserved_peaks(const Replay& replay, const SizeValues& at);

}  // namespace tensorscope::analyzer::forecast
