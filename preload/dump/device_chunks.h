// The chunks about memory of devices that torch's reports do not tell: RUNT, the blocks taken from the CUDA runtime,
// and DEVM, what the driver and torch's allocator say of each device on which this process has allocated.
//
// Context: collector. Each function appends to `file` and returns false where that fails.
#pragma once

#include "live/snapshot_view.h"
#include "snapshot/devices/driver.h"
#include "snapshot/devices/segments.h"
#include "snapshot/dump_file.h"

namespace tensorscope::snapshot {

// CUDA devices on which this process (not only the one it was forked from) has allocated; returns how many.
size_t used_cuda_devices(const live::SnapshotView& view, int8_t (&devices)[DriverAnswers::kMostDevices]);

bool write_runtime_blocks(const live::SnapshotView& view, DumpFile& file);

// Waits for the driver's answers, and says in the coverage record how much came of it.
bool write_device_memory(const live::SnapshotView& view, const AllocatorSnapshot& allocator, DriverAnswers& driver,
                         DumpFile& file);

}  // namespace tensorscope::snapshot
