// SPDX-License-Identifier: Apache-2.0
// How names of native frames and source files are looked for, and which files there are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tensorscope::analyzer {

struct SymbolOptions {
  std::string sysroot;                       // folder that stands for / of the target: for objects and source files
  std::vector<std::string> source_folders;   // where source files may be looked for
  std::vector<std::string> debug_dirs;       // searched for .build-id/xx/yyyy.debug before the system's
  bool use_cache = true;                     // $XDG_CACHE_HOME/tensorscope or ~/.cache/tensorscope
  bool native = true;                        // false: do not resolve, frames keep module and address
  std::vector<std::string> name_dumps = {};  // whose names the moments of a recording have; empty: those beside it
};

// Which objects with frames of the dump are on this machine.
struct SymbolCheck {
  size_t wanted = 0, found = 0;
  std::vector<std::string> notes;  // one sentence for each that was not found, and why
};

}  // namespace tensorscope::analyzer
