// SPDX-License-Identifier: Apache-2.0
// The framing of a dump file. Shared by the writer (preload/dump) and the reader (analyzer/dump); plain C++17
// without dependencies but xxHash's single header. docs/dump-format.md describes the same for other languages.
//
//   file   := FileHeader chunk* end-chunk
//   chunk  := ChunkHeader payload zero-padding to a multiple of 8 bytes
//   payload:= one size-prefixed FlatBuffer; the root table is given by the type (dump.fbs)
//
// All integers are little-endian. Every bit of the file is covered by a checksum or must be zero.
#pragma once

#include <cstddef>
#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tensorscope::format {

inline constexpr char kMagic[8] = {'T', 'S', 'C', 'O', 'P', 'E', '\r', '\n'};
inline constexpr uint32_t kFormatMajor = 1;  // a reader refuses a larger one
inline constexpr uint32_t kFormatMinor = 9;  // a larger one only adds chunk types and table fields
inline constexpr uint64_t kMaxChunkBytes = uint64_t{1} << 30;
inline constexpr size_t kMaxRowsPerChunk = size_t{1} << 16;

struct FileHeader {
  char magic[8];
  uint32_t major;
  uint32_t minor;
  uint64_t checksum;  // XXH3-64 of the 16 bytes before
};
static_assert(sizeof(FileHeader) == 24);

struct ChunkHeader {
  uint32_t type;      // four characters, first one in the lowest byte
  uint32_t reserved;  // 0
  uint64_t length;    // of the payload, without padding
  uint64_t checksum;  // XXH3-64 of the payload, seeded with the XXH3-64 of the 16 bytes before
};
static_assert(sizeof(ChunkHeader) == 24);

constexpr uint32_t chunk_type(const char (&name)[5]) {
  return uint32_t(uint8_t(name[0])) | uint32_t(uint8_t(name[1])) << 8 | uint32_t(uint8_t(name[2])) << 16 |
         uint32_t(uint8_t(name[3])) << 24;
}

// Every chunk type: its constant, its four characters and what messages call it.
#define TENSORSCOPE_CHUNKS(CHUNK)                        \
  CHUNK(kProcess, "PROC", "process")                     \
  CHUNK(kStrings, "STRS", "strings")                     \
  CHUNK(kSharedObjects, "MODS", "shared objects")        \
  CHUNK(kCodes, "CODE", "code")                          \
  CHUNK(kNativeFrames, "NATV", "native frames")          \
  CHUNK(kPythonFrames, "PYTH", "Python frames")          \
  CHUNK(kSites, "SITE", "sites")                         \
  CHUNK(kThreads, "THRD", "threads")                     \
  CHUNK(kTensors, "TENS", "tensors")                     \
  CHUNK(kAllocations, "ALLO", "allocations")             \
  CHUNK(kNodes, "NODE", "autograd nodes")                \
  CHUNK(kGraph, "GRPH", "autograd graph")                \
  CHUNK(kTotals, "TOTL", "totals")                       \
  CHUNK(kSteps, "STEP", "steps")                         \
  CHUNK(kHistory, "HIST", "history")                     \
  CHUNK(kPeak, "PEAK", "peak")                           \
  CHUNK(kCoverage, "COVR", "coverage")                   \
  CHUNK(kNames, "NAME", "names")                         \
  CHUNK(kReferences, "REFS", "references")               \
  CHUNK(kFailure, "FAIL", "failure")                     \
  CHUNK(kDeviceMemory, "DEVM", "device memory")          \
  CHUNK(kRuntimeBlocks, "RUNT", "CUDA runtime's blocks") \
  CHUNK(kDriverMemory, "CUPM", "driver's memory")        \
  CHUNK(kLaunches, "KERN", "kernels and copies")         \
  CHUNK(kSourceLines, "SRCS", "source lines")            \
  CHUNK(kProcessMemory, "PMEM", "process's memory")      \
  CHUNK(kProcessGroups, "PGRP", "process groups")        \
  CHUNK(kEnd, "END!", "end")

#define TENSORSCOPE_CHUNK_TYPE(constant, letters, name) inline constexpr uint32_t constant = chunk_type(letters);
TENSORSCOPE_CHUNKS(TENSORSCOPE_CHUNK_TYPE)
#undef TENSORSCOPE_CHUNK_TYPE

struct ChunkKind {
  uint32_t type;
  const char* name;
};
inline constexpr ChunkKind kChunkKinds[] = {
#define TENSORSCOPE_CHUNK_KIND(constant, letters, name) {constant, name},
    TENSORSCOPE_CHUNKS(TENSORSCOPE_CHUNK_KIND)
#undef TENSORSCOPE_CHUNK_KIND
};

// Bytes of zero padding that follow a payload of this length.
constexpr size_t padding(uint64_t length) { return size_t(-length & 7); }

inline uint64_t header_checksum(const FileHeader& header) { return XXH3_64bits(&header, 16); }
inline uint64_t chunk_checksum(const ChunkHeader& header, const void* payload) {
  return XXH3_64bits_withSeed(payload, size_t(header.length), XXH3_64bits(&header, 16));
}

}  // namespace tensorscope::format
