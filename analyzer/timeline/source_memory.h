// SPDX-License-Identifier: Apache-2.0
// Which source lines a recording's allocation sites belong to: every line of the wanted files on the call stack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump/dump.h"

namespace tensorscope::analyzer {

struct SourcePlace {
  std::string file;  // as code objects name it
  int line = 0;
  std::string function;  // one of those it is in
};

struct LinesOfSites {
  std::vector<SourcePlace> lines;              // by file and line
  std::vector<std::vector<uint32_t>> of_site;  // indices into `lines`
};

// `file`: a path or the end of one ("train.py", "models/net.py"); "": the program's own code.
LinesOfSites lines_of_sites(const Dump& dump, const std::string& file);

}  // namespace tensorscope::analyzer
