// SPDX-License-Identifier: Apache-2.0
// Dumps that one process has written into one folder, and those of its descendants that go with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

struct RunDump {
  uint64_t dump_ns;
  std::string path;
};

// Those of the same run and process as `process` in the folder of `file`, in no order. Files that are no dumps are
// passed over; after `most_files` names of dumps no more are opened.
std::vector<RunDump> dumps_beside(const std::string& file, const Process& process, size_t most_files);

// Those that descendants have written with any of these dumps, which are of one process (TENSORSCOPE_CHILDREN); in the
// order of their names.
std::vector<std::string> dumps_of_children_beside(const std::vector<Dump>& dumps, size_t most_files);

}  // namespace tensorscope::analyzer
