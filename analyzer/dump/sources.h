// SPDX-License-Identifier: Apache-2.0
// Source lines that a dump brings along.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {

struct SourceFile {
  std::string path;                                     // as code objects name it
  int state = 0;                                        // format::SourceState
  uint64_t size = 0, hash = 0;                          // of a file that was read
  std::vector<std::pair<uint32_t, std::string>> lines;  // number from 1 and text, ascending
};

struct Sources {
  bool present = false, complete = false;
  std::string detail;             // why it is not complete
  uint64_t newest_unix_ns = 0;    // a file that was written later may not be what ran
  std::vector<SourceFile> files;  // by path
};

}  // namespace tensorscope::analyzer
