// SPDX-License-Identifier: Apache-2.0
// The chunks about memory of devices that torch's reports do not report: RUNT, the blocks taken from the CUDA runtime,
// and DEVM, what the driver and torch's allocator say of each device on which this process has allocated.
//
// Context: collector. Each function appends to `file` and returns false where that fails.
#pragma once

#include "devices/driver.h"
#include "devices/segments.h"
#include "dump/dump_file.h"
#include "live/snapshot_view.h"

namespace tensorscope::dump {

// CUDA devices on which this process (not only the one it was forked from) has allocated; returns how many.
size_t used_cuda_devices(const live::SnapshotView& view, int8_t (&devices)[devices::DriverAnswers::kMaxDevices]);

bool write_runtime_blocks(const live::SnapshotView& view, ChunkSink& file);

// Waits for the driver's answers, and says in the coverage record how much came of it.
bool write_device_memory(const live::SnapshotView& view, const devices::AllocatorSnapshot& allocator,
                         devices::DriverAnswers& driver, DumpFile& file);

}  // namespace tensorscope::dump
