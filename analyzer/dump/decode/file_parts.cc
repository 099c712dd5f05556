// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/file_parts.h"

#include "dump/decode/decoding.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

void decode_strings(const format::Strings& in, Decoding& state) {
  if (!in.values()) return;
  for (const auto* value : *in.values()) state.strings.push_back(state.charged(value->string_view()));
}

void decode_end(const format::EndMark& in, Decoding& state) {
  state.end_agrees = in.chunks() == state.chunk->chunks_before && in.bytes() == state.chunk->offset;
  if (state.end_agrees) return;
  state.dump.problems.push_back("the end of " + state.name + " does not match the chunks before it: chunks were lost.");
}

}  // namespace tensorscope::analyzer
