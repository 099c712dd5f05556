// SPDX-License-Identifier: Apache-2.0
// The memory of devices: the driver's numbers and the segments of torch's allocator.
#pragma once

namespace tensorscope::format {
struct DeviceMemory;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_device_memory(const format::DeviceMemory& in, Decoding& state);

void finish_device_memory(Decoding& state);

}  // namespace tensorscope::analyzer
