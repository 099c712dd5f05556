// SPDX-License-Identifier: Apache-2.0
// Which source files are believed to be what runs, and how much of a line is kept.
//
// Context: any. Units: bytes, nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensorscope/rules/utf8.h"

namespace tensorscope::rules {

inline constexpr size_t kMaxLineBytes = 400;
inline constexpr std::string_view kBlanks = " \t\r\f";

// Without the blanks around it, and cut between characters.
constexpr std::string_view kept_line(std::string_view line) {
  const size_t begin = line.find_first_not_of(kBlanks);
  if (begin == line.npos) return {};
  line = text_beginning(line.substr(begin), kMaxLineBytes);
  return line.substr(0, line.find_last_not_of(kBlanks) + 1);
}

// Whether a file that was written then can be what a process runs that was started (or whose newest code was seen)
// at `newest_unix_ns`. The kernel reports a process's start in ticks of 10 ms: a script that is run as soon as it is
// written seems younger.
constexpr bool may_be_what_runs(uint64_t written_unix_ns, uint64_t newest_unix_ns) {
  constexpr uint64_t kStartTicks = 20'000'000;
  return written_unix_ns <= newest_unix_ns + kStartTicks;
}

}  // namespace tensorscope::rules
