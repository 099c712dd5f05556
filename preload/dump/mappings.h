// SPDX-License-Identifier: Apache-2.0
// What is mapped into this process, by name: resident bytes of each library, mapped file, and what has no file.
//
// Context: collector, no lock held, between the phases. The kernel walks the page tables for it, some 5 ms a gibibyte,
// and a thread that maps or unmaps memory waits meanwhile, for a few mappings at a time; a process that would need long
// is not asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dump_generated.h"

namespace tensorscope::dump {

struct Mapping {
  std::string name;  // "" of kinds that may have one: those too small, or too many, for a row each
  format::MappingKind kind = format::MappingKind::other;
  uint32_t count = 0;
  uint64_t resident = 0, private_bytes = 0, anonymous = 0;  // bytes
};

struct Mappings {
  std::vector<Mapping> rows;  // the largest first; empty: not known
  const char* detail = "";    // why not; a literal
};

// `mappings` is changed only where all was read, its detail where not.
void read_mappings(Mappings& mappings);

inline constexpr size_t kMaxMappingRows = 256;
inline constexpr uint64_t kMinMappingBytes = uint64_t{256} << 10;  // of a row with a name

// Sums up /proc/PID/smaps, which comes in pieces.
class MappingSums {
 public:
  // `text`: what was not taken the last time, and what follows it. Returns how many bytes were taken: whole lines.
  size_t take(std::string_view text);
  std::vector<Mapping> largest() const;

 private:
  void line(std::string_view text);
  void begin(std::string_view header);

  std::vector<Mapping> all_;
  std::unordered_map<std::string, size_t> by_name_;
  size_t present_ = SIZE_MAX;
};

}  // namespace tensorscope::dump
