// SPDX-License-Identifier: Apache-2.0
// Names for return addresses of the target: which object, which file on this machine that is (or no longer is), which
// functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dump/dump.h"
#include "symbols/symbol_cache.h"
#include "symbols/symbol_options.h"

namespace tensorscope::analyzer {

class NativeSymbols {
 public:
  NativeSymbols(const Dump& dump, SymbolOptions options);
  ~NativeSymbols();

  // The object that holds this return address; null where none was mapped there.
  const SharedObject* object_at(uint64_t return_address) const;
  // Innermost first; one empty place where nothing is known.
  const std::vector<CodePlace>& places(uint64_t return_address);
  // Frames of one leaf of the dump's native stacks, innermost first, inline frames expanded.
  std::vector<Frame> frames(uint32_t leaf);
  // The object of such a frame that has no name because no file of that object could be read here; null: another frame.
  const SharedObject* unread_object(const Frame& frame);
  bool names_functions() const { return options_.native; }
  void save();
  // Looks for the file of each object that a frame lies in; resolves nothing.
  SymbolCheck check();

 private:
  const SharedObject* unread_object(uint64_t return_address);
  struct ObjectFiles;
  ObjectFiles& files_of(const SharedObject& object);
  void find_files(ObjectFiles& files);
  // One sentence for each object whose functions stay unnamed although its address is known, and why.
  std::vector<std::string> notes() const;

  const Dump& dump_;
  SymbolOptions options_;
  std::string cache_directory_;
  std::unordered_map<const SharedObject*, std::unique_ptr<ObjectFiles>> files_;
  std::unordered_map<uint64_t, const std::vector<CodePlace>*> known_;
};

}  // namespace tensorscope::analyzer
