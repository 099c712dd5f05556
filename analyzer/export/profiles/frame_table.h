// SPDX-License-Identifier: Apache-2.0
// The frames of a dump's stacks as formats of profilers want them: each different one once, with a name that a person
// reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::exports {

struct TableFrame {
  std::string name, file;  // file: "" where not known; of a native frame its shared object
  int line = 0;
  bool operator<(const TableFrame& other) const {
    return std::tie(name, file, line) < std::tie(other.name, other.file, other.line);
  }
};

class FrameTable {
 public:
  uint32_t add(const analyzer::Frame& frame);
  const std::vector<TableFrame>& frames() const { return frames_; }

 private:
  std::map<TableFrame, uint32_t> ids_;
  std::vector<TableFrame> frames_;
};

}  // namespace tensorscope::exports
