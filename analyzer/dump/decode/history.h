// SPDX-License-Identifier: Apache-2.0
// The time before the dump: HIST and PEAK.
#pragma once

namespace tensorscope::format {
struct History;
struct Peak;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_history(const format::History& in, Decoding& state);
void decode_peak(const format::Peak& in, Decoding& state);
// Once the sites are known.
void finish_peak(Decoding& state);

}  // namespace tensorscope::analyzer
