// SPDX-License-Identifier: Apache-2.0
// The framing of a values file: a dump's (dump_format.h) with a magic and chunk types of its own. A file without an end
// chunk is that of a program that still runs or was killed: everything up to its last whole chunk counts.
// docs/values-format.md describes the same for other languages.
#pragma once

#include "tensorscope/dump_format.h"

namespace tensorscope::format {

inline constexpr char kValuesMagic[8] = {'T', 'S', 'V', 'A', 'L', 'U', '\r', '\n'};
inline constexpr uint32_t kValuesMajor = 1;  // a reader refuses a larger one
inline constexpr uint32_t kValuesMinor = 0;  // a larger one only adds chunk types and table fields

// PROC and STRS are those of a dump.
inline constexpr uint32_t kWatches = chunk_type("WTCH");
inline constexpr uint32_t kValueData = chunk_type("VDAT");
inline constexpr uint32_t kValues = chunk_type("VALU");
inline constexpr uint32_t kCalls = chunk_type("CALL");
inline constexpr uint32_t kNonFinite = chunk_type("FIND");
inline constexpr uint32_t kLosses = chunk_type("LOSS");
inline constexpr uint32_t kUnmatched = chunk_type("NOMT");
inline constexpr uint32_t kValuesEnd = chunk_type("VEND");

}  // namespace tensorscope::format
