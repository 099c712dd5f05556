// SPDX-License-Identifier: Apache-2.0
// Rows of a values file's chunks, as FlatBuffers has them, become records. They are sound (sound_rows.h).
#pragma once

#include <deque>
#include <string>

#include "values/records.h"
#include "values_generated.h"

namespace tensorscope::values {

using Texts = std::deque<std::string>;  // a deque: texts stay where they are while the file grows

// A text that may be absent.
std::string str(const flatbuffers::String* text);

// But for what depends on the file: its watches, its clock, the number of the chunk.
Value value_of(const format::ValueRow& row, const format::ValueBatch& batch, const Texts& texts);
Call call_of(const format::CallRow& row, const Texts& texts);
NonFinite finding_of(const format::NonFinite& in);

}  // namespace tensorscope::values
