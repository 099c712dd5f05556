// SPDX-License-Identifier: Apache-2.0
// Python's references to tensors and nodes. Numbers of nodes and serials of tensors are resolved at the end, once
// everything that they may point to is there.
#pragma once

namespace tensorscope::format {
struct References;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_references(const format::References& in, Decoding& state);

// After the graph.
void finish_references(Decoding& state);

}  // namespace tensorscope::analyzer
