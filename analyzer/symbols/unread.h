// SPDX-License-Identifier: Apache-2.0
// What is not known of call stacks because files that the dump names could not be read here: functions of shared
// objects, lines of source files.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "dump/dump.h"
#include "symbols/native_symbols.h"
#include "symbols/source_lines.h"

namespace tensorscope::analyzer {

struct UnreadFiles {
  std::set<std::string> libraries;  // shared objects and programs
  std::set<std::string> sources;    // files whose lines are not in the dump, and in no folder that was named
  bool switched_off = false;        // functions were not to be named (--no-symbols)
  bool not_recorded = false;        // there are no native stacks of something (TENSORSCOPE_NATIVE)

  bool empty() const { return libraries.empty() && sources.empty() && !not_recorded; }
  void add(const UnreadFiles& others);
};

class UnreadStacks {
 public:
  UnreadStacks(const Dump& dump, NativeSymbols& symbols, SourceLines& sources)
      : dump_(dump), symbols_(symbols), sources_(sources) {}

  // Whether the file is missing that names the function of a native frame.
  bool function(const Frame& frame);
  // Whether the file is missing that says which of torch's operations the site belongs to.
  bool operation(uint32_t site);
  // Whether a line of a running function is missing; torch's own and the standard library's do not count.
  bool line(uint32_t site);
  // Returns the files that are missing for what was read so far.
  const UnreadFiles& files() const { return files_; }

 private:
  void note(const SharedObject& object);
  bool look_for_operation(uint32_t leaf);
  void look_for_lines();

  const Dump& dump_;
  NativeSymbols& symbols_;
  SourceLines& sources_;
  std::vector<uint8_t> lacks_line_;                // of each Python frame; filled on first use
  std::unordered_map<uint32_t, bool> operations_;  // by native leaf
  UnreadFiles files_;
};

}  // namespace tensorscope::analyzer
