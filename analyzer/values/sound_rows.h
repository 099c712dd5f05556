// SPDX-License-Identifier: Apache-2.0
// Which rows of a values file agree with themselves and with their batch. The others are left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensorscope/values_format.h"
#include "values_generated.h"

namespace tensorscope::values {

inline bool has(uint16_t flags, format::ValueFlag flag) { return (flags & uint16_t(flag)) != 0; }
inline bool has(uint16_t flags, format::CallFlag flag) { return (flags & uint16_t(flag)) != 0; }

// Of a vector of FlatBuffers, which may be absent.
template <typename Vector>
size_t size_of(const Vector* vector) {
  return vector ? vector->size() : 0;
}

bool sound_statistics(const format::ValueStatistics& in);

// `strings`: how many texts are known where the row stands.
bool sound_row(const format::ValueRow& row, const format::ValueBatch& batch, size_t strings);
bool sound_call(const format::CallRow& row, size_t strings);

}  // namespace tensorscope::values
