// SPDX-License-Identifier: Apache-2.0
// What CUPTI reported: memory that was taken from the driver, kernels and copies.
#pragma once

namespace tensorscope::format {
struct DriverMemory;
struct Launches;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_driver_memory(const format::DriverMemory& in, Decoding& state);
void decode_launches(const format::Launches& in, Decoding& state);

void finish_cupti(Decoding& state);

}  // namespace tensorscope::analyzer
