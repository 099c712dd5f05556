// SPDX-License-Identifier: Apache-2.0
// Lines of the source files.
#pragma once

namespace tensorscope::format {
struct SourceLines;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_source_lines(const format::SourceLines& in, Decoding& state);

}  // namespace tensorscope::analyzer
