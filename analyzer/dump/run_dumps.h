// SPDX-License-Identifier: Apache-2.0
// Dumps that one process has written into one folder.
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

}  // namespace tensorscope::analyzer
