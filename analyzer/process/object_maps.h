// SPDX-License-Identifier: Apache-2.0
// What /proc/PID/maps says of the objects that the loader has mapped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorscope::process {

struct Mapping {
  uint64_t begin = 0, end = 0, offset = 0;
  std::string name;  // a file's path, "[vdso]"; "" for memory of no file
  std::string line;  // as it was read
};

// Returns the mappings without those of files that lie apart from their object. libffi maps a page of its own code once
// more, for closures (src/tramp.c, 3.4 and later), often just below itself: an object would seem to begin there.
std::vector<Mapping> object_mappings(const std::string& maps);

}  // namespace tensorscope::process
