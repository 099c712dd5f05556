// SPDX-License-Identifier: Apache-2.0
// The live tensors, and what each says of its storage.
#pragma once

namespace tensorscope::format {
struct TensorRows;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_tensors(const format::TensorRows& in, Decoding& state);

void finish_tensors(Decoding& state);
void finish_tensor_parts(Decoding& state);

}  // namespace tensorscope::analyzer
