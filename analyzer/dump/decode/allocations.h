// SPDX-License-Identifier: Apache-2.0
// Live allocations, and the autograd nodes that were seen being attached.
#pragma once

namespace tensorscope::format {
struct AllocationRows;
struct NodeRows;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_allocations(const format::AllocationRows& in, Decoding& state);
void decode_nodes(const format::NodeRows& in, Decoding& state);

void finish_allocations_and_nodes(Decoding& state);

}  // namespace tensorscope::analyzer
