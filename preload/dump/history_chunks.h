// SPDX-License-Identifier: Apache-2.0
// The chunks of a dump about the time before it: HIST, memory over the run; PEAK, what was alive at the highest peak.
//
// Context: collector. Each function appends to `file` and returns false where that fails.
#pragma once

#include <cstddef>

#include "dump/chunk_sink.h"
#include "live/snapshot_view.h"

namespace tensorscope::dump {

inline constexpr size_t kMaxPeakSites = 1024;  // with a row of their own, the largest: 24 KiB

// Writes nothing if the history could not be copied.
bool write_history(const live::SnapshotView& view, ChunkSink& file);
// Writes nothing if there was no peak.
bool write_peak(const live::SnapshotView& view, ChunkSink& file, size_t most_sites = kMaxPeakSites);

}  // namespace tensorscope::dump
