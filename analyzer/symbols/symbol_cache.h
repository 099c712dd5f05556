// SPDX-License-Identifier: Apache-2.0
// Resolved addresses of one object, kept on disk by its build-id, so that reading a second dump of the same
// installation needs no debug information at all. One file a build-id; replaced as a whole; what is damaged or foreign
// is ignored.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "symbols/symbol_file.h"

namespace tensorscope::analyzer {

class SymbolCache {
 public:
  // `directory` "": nothing is kept on disk.
  SymbolCache(std::string directory, std::string build_id);

  // Where the answers come from ("path:size:mtime" of the files). Setting another source forgets all answers.
  const std::string& source() const { return source_; }
  void set_source(const std::string& source);

  const std::vector<CodePlace>* find(uint64_t address) const;
  const std::vector<CodePlace>& add(uint64_t address, std::vector<CodePlace> places);

  // Writes what is new. Errors are ignored: the next run takes longer.
  void save();

 private:
  void load();
  std::string path() const;

  std::string directory_, build_id_, source_;
  std::unordered_map<uint64_t, std::vector<CodePlace>> places_;
  bool changed_ = false;
};

// $XDG_CACHE_HOME/tensorscope/symbols or ~/.cache/tensorscope/symbols; "" where neither can be determined.
std::string default_cache_directory();

}  // namespace tensorscope::analyzer
