// SPDX-License-Identifier: Apache-2.0
// Sums over the process's memory, and what it consists of.
#pragma once

namespace tensorscope::format {
struct ProcessMemory;
struct Totals;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_totals(const format::Totals& in, Decoding& state);
void decode_process_memory(const format::ProcessMemory& in, Decoding& state);

}  // namespace tensorscope::analyzer
