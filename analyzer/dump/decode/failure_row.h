// SPDX-License-Identifier: Apache-2.0
// What failed, in the dump of an out-of-memory error.
#pragma once

namespace tensorscope::format {
struct Failure;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_failure(const format::Failure& in, Decoding& state);

// After the nodes.
void finish_failure(Decoding& state);

}  // namespace tensorscope::analyzer
