// SPDX-License-Identifier: Apache-2.0
// Memory that was taken from the CUDA runtime.
#pragma once

namespace tensorscope::format {
struct RuntimeBlocks;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_runtime_blocks(const format::RuntimeBlocks& in, Decoding& state);

void finish_runtime_blocks(Decoding& state);

}  // namespace tensorscope::analyzer
