// SPDX-License-Identifier: Apache-2.0
// Names for native frames: libdw by build-id, with inline frames, demangled, and a cache on disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dump/dump.h"
#include "symbols/symbol_options.h"

namespace tensorscope::analyzer {

class UnreadStacks;

class Symbols {
 public:
  Symbols(const Dump& dump, const SymbolOptions& options);
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // Frames of one native trie leaf, innermost first, inline frames expanded.
  std::vector<Frame> native(uint32_t leaf);
  // Frames of one Python trie leaf, innermost first.
  std::vector<Frame> python(uint32_t leaf);
  // Both merged at the interpreter's frames, innermost first; interpreter internals are dropped unless `full`.
  std::vector<Frame> merged(const Site& site, bool full = false);
  // The same for a reader: unread() has the files without which frames of it have no name.
  std::vector<Frame> shown(const Site& site, bool full = false);
  // The frame that a person wants to see for a site: the innermost Python frame that is in the user's own code (not
  // torch, not site-packages, not the standard library), else the innermost Python frame, else the innermost native
  // frame outside torch's libraries, else the innermost but for torch's allocators. Empty function and file where there
  // is no stack at all.
  Frame headline(const Site& site);
  // The nn.Module path of a site: innermost named module frame, "" where none.
  std::string module_path(const Site& site) const;
  // The source line of a frame, trimmed and fit for a terminal; "" where it is not known (source_lines.h).
  std::string source_line(const Frame& frame);
  UnreadStacks& unread();
  // Resolves all given native leaves at once, which is faster than one by one, and saves the cache.
  void prefetch(const std::vector<uint32_t>& native_leaves);
  // One sentence for each source file that was not believed. Which objects could not be read: unread(), check().
  std::vector<std::string> source_notes() const;
  // Looks for every object that a native frame lies in; resolves nothing.
  SymbolCheck check();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tensorscope::analyzer
