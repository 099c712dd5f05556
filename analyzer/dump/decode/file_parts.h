// SPDX-License-Identifier: Apache-2.0
// What belongs to the file and not to the process: the texts that rows refer to, and the mark at its end.
#pragma once

namespace tensorscope::format {
struct EndMark;
struct Strings;
}  // namespace tensorscope::format

namespace tensorscope::analyzer {

struct Decoding;

void decode_strings(const format::Strings& in, Decoding& state);
void decode_end(const format::EndMark& in, Decoding& state);

}  // namespace tensorscope::analyzer
