// SPDX-License-Identifier: Apache-2.0
// The framing of a recording: a dump's (dump_format.h) with a magic and chunk types of its own. As a values file, it is
// whole up to its last chunk at any moment. docs/recording-format.md describes the same for other languages.
#pragma once

#include "tensorscope/dump_format.h"

namespace tensorscope::format {

inline constexpr char kRecordingMagic[8] = {'T', 'S', 'R', 'E', 'C', 'O', '\r', '\n'};
inline constexpr uint32_t kRecordingMajor = 1;  // a reader refuses a larger one
inline constexpr uint32_t kRecordingMinor = 0;  // a larger one only adds chunk types and table fields

// PROC, STRS, MODS, CODE, NATV, PYTH, SITE, THRD, TENS, ALLO, TOTL and COVR are those of a dump.
// How the reason of an end begins where the recording could not be written any further (a full disk).
inline constexpr char kCutShort[] = "cut short: could not ";

inline constexpr uint32_t kSegment = chunk_type("SEGM");
inline constexpr uint32_t kEvents = chunk_type("EVTS");
inline constexpr uint32_t kRecordingEnd = chunk_type("REND");

// What messages call them; the others are those of dumps.
inline constexpr ChunkKind kRecordingChunkKinds[] = {
    {kSegment, "recording segment"}, {kEvents, "events"}, {kRecordingEnd, "end of the recording"}};

}  // namespace tensorscope::format
