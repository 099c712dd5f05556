// SPDX-License-Identifier: Apache-2.0
// What is kept of one dump of a job once it has been read: sums by category, module and allocation site. The dump
// itself is freed, so that a thousand of them need the memory of one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "memory/selection.h"
#include "ranks/name_pool.h"
#include "symbols/symbols.h"
#include "symbols/unread.h"

namespace tensorscope::analyzer {

enum class RankSubject : uint8_t { category, module, site };
inline constexpr size_t kRankSubjects = 3;
inline constexpr std::array<const char*, kRankSubjects> kRankSubjectNames = {"category", "module", "site"};

// What a dump holds of one category, module or site.
struct RankPart {
  uint32_t name = 0;  // in the NamePool
  uint64_t bytes = 0, tensors = 0;
};

struct RankFailure {
  uint64_t unix_ns = 0;  // when
  uint64_t requested = 0;
  Device device;
  std::string where;  // "train.py:57 step", "" where not known
  std::string error;
};

struct RankDump {
  std::string path;
  std::vector<std::string> problems;
  Process process;  // without its command line and options
  std::vector<ProcessGroup> groups;
  uint64_t live_bytes = 0, tensors = 0;  // of the selection
  uint64_t peak_bytes = 0, reserved_bytes = 0,
           resident_bytes = 0;                             // of the process; peak and reserved over all devices
  std::array<std::vector<RankPart>, kRankSubjects> parts;  // by name
  UnreadFiles unread;                                      // that names of its sites lack
  std::optional<RankFailure> failure;                      // a failed allocation; not a limit that was near

  const std::vector<RankPart>& of(RankSubject subject) const { return parts[size_t(subject)]; }
  bool at_exit() const;
};

// Throws BadInput, BadFilter.
RankDump read_rank_dump(const std::string& path, const Filter& filter, const SymbolOptions& symbols, NamePool& names);

}  // namespace tensorscope::analyzer
