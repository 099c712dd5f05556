// SPDX-License-Identifier: Apache-2.0
// One ELF object on this machine, asked which functions and lines an address of it belongs to: DWARF with inline frames
// where there is any, else the symbol table. The index is built when first asked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/regular_file.h"

namespace tensorscope::analyzer {

// What one address stands for; an address inside inlined functions is several of these, innermost first.
struct CodePlace {
  std::string function;  // demangled, without parameters; "" where not known
  std::string file;
  int line = 0;
  bool inlined = false;
  bool operator==(const CodePlace&) const = default;
};

class SymbolFile {
 public:
  // Null where it is no ELF file. Until look_up() nothing of it is read but its headers and the build-id.
  static std::unique_ptr<SymbolFile> open(RegularFile file);
  ~SymbolFile();

  const std::string& build_id() const;  // hex, "" where it has none
  // `address` as in the file's own symbol table; inside the instruction that is meant (a return address less one).
  std::vector<CodePlace> look_up(uint64_t address);

 private:
  SymbolFile();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tensorscope::analyzer
