// SPDX-License-Identifier: Apache-2.0
// A site's frames as JSON text: many tensors share a site, and there may be millions of them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "dump/dump.h"
#include "symbols/symbols.h"

namespace tensorscope::exports {

class StackTexts {
 public:
  // `full`: with the interpreter's own functions.
  StackTexts(const analyzer::Dump& dump, analyzer::Symbols& symbols, bool full)
      : dump_(dump), symbols_(symbols), full_(full) {}

  // A list of frames, innermost first; "[]" for site 0. Texts are kept, but not without bound: it stays what it is
  // until the next call.
  const std::string& stack(uint32_t site);
  void append_frame(std::string& out, const analyzer::Frame& frame);

 private:
  const std::string& quoted(const std::string& text);

  const analyzer::Dump& dump_;
  analyzer::Symbols& symbols_;
  const bool full_;
  std::unordered_map<uint32_t, std::string> stacks_;  // by site
  size_t kept_bytes_ = 0;
  std::unordered_map<std::string, std::string> quoted_;
};

}  // namespace tensorscope::exports
