// SPDX-License-Identifier: Apache-2.0
// The autograd graph. Numbers of nodes and serials of tensors are resolved at the end, once everything that they may
// point to is there.
#pragma once

namespace tensorscope::format {
struct GraphRows;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_graph(const format::GraphRows& in, Decoding& state);

void finish_graph(Decoding& state);

}  // namespace tensorscope::analyzer
