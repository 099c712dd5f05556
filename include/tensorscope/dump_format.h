// The framing of a dump file. Shared by the writer (preload/snapshot) and the readers (analyzer/model); plain C++17
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

namespace tensorscope::dump {

inline constexpr char kMagic[8] = {'T', 'S', 'C', 'O', 'P', 'E', '\r', '\n'};
inline constexpr uint32_t kFormatMajor = 1;  // a reader refuses a larger one
inline constexpr uint32_t kFormatMinor = 2;  // a larger one only adds chunk types and table fields
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

inline constexpr uint32_t kProcess = chunk_type("PROC");
inline constexpr uint32_t kStrings = chunk_type("STRS");
inline constexpr uint32_t kModules = chunk_type("MODS");
inline constexpr uint32_t kCodes = chunk_type("CODE");
inline constexpr uint32_t kNativeFrames = chunk_type("NATV");
inline constexpr uint32_t kPythonFrames = chunk_type("PYTH");
inline constexpr uint32_t kSites = chunk_type("SITE");
inline constexpr uint32_t kThreads = chunk_type("THRD");
inline constexpr uint32_t kTensors = chunk_type("TENS");
inline constexpr uint32_t kAllocations = chunk_type("ALLO");
inline constexpr uint32_t kNodes = chunk_type("NODE");
inline constexpr uint32_t kGraph = chunk_type("GRPH");
inline constexpr uint32_t kTotals = chunk_type("TOTL");
inline constexpr uint32_t kCoverage = chunk_type("COVR");
inline constexpr uint32_t kNames = chunk_type("NAME");
inline constexpr uint32_t kReferences = chunk_type("REFS");
inline constexpr uint32_t kFailure = chunk_type("FAIL");
inline constexpr uint32_t kDeviceMemory = chunk_type("DEVM");
inline constexpr uint32_t kRuntimeBlocks = chunk_type("RUNT");
inline constexpr uint32_t kDriverMemory = chunk_type("CUPM");
inline constexpr uint32_t kLaunches = chunk_type("KERN");
inline constexpr uint32_t kEnd = chunk_type("END!");

// Bytes of zero padding that follow a payload of this length.
constexpr size_t padding(uint64_t length) { return size_t(-length & 7); }

inline uint64_t header_checksum(const FileHeader& header) { return XXH3_64bits(&header, 16); }
inline uint64_t chunk_checksum(const ChunkHeader& header, const void* payload) {
  return XXH3_64bits_withSeed(payload, size_t(header.length), XXH3_64bits(&header, 16));
}

}  // namespace tensorscope::dump
