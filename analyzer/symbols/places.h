// SPDX-License-Identifier: Apache-2.0
// What a site is called: the one line that a person wants to see, its whole stack, and keys that mean the same place in
// another dump or another run.
//
// Not thread-safe. Texts are as in the dump: cleaning is the renderer's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dump/dump.h"
#include "symbols/symbols.h"
#include "symbols/unread.h"
#include "symbols/user_code.h"

namespace tensorscope::analyzer {

struct Place {
  Frame frame;
  std::string file;      // shortened: relative to the program's directory, or from the package on
  std::string function;  // long template arguments left out
  std::string line;      // "train.py:57", "libfoo.so"
  std::string where;     // "train.py:57 train_step"
};

class Places {
 public:
  Places(const Dump& dump, Symbols& symbols) : dump_(dump), symbols_(symbols), package_(torch_package(dump)) {}

  // The place of a site that stands for its own code (Symbols::headline). Site 0: "(no stack)".
  const Place& at(uint32_t site);
  // Any frame in the same words.
  Place describe(const Frame& frame) const;
  // The same for a reader: unread() has the file without which the frame has no name.
  Place shown(const Frame& frame);
  // The merged stack, innermost first, without interpreter internals.
  const std::vector<Frame>& stack(uint32_t site);
  // The stack as text, equal for equal stacks of any run of the same program.
  const std::string& stack_key(uint32_t site);
  const std::string& module_path(uint32_t site);  // "" where none
  std::string source_line(uint32_t site);
  // The user's own code that led to the place, innermost first, at most `most` frames:
  // "model.py:31 Net.forward", "train.py:71 main". Empty where the place is the outermost of it.
  enum class TopLevel : uint8_t { left_out, shown };  // of a script
  std::vector<std::string> calling_places(uint32_t site, size_t most, TopLevel top_level);
  // The three innermost of functions in one text: "model.py:31 Net.forward <- train.py:71 main".
  std::string callers(uint32_t site);
  // Returns what of the stacks that were read so far is missing here.
  UnreadStacks& unread() { return symbols_.unread(); }
  // Resolves what these sites need at once.
  void prefetch(const std::vector<uint32_t>& sites, bool whole_stacks);

 private:
  const Dump& dump_;
  Symbols& symbols_;
  const std::string package_;                          // PyTorch's
  std::deque<Place> places_;                           // each once: many sites have one place
  std::unordered_map<std::string, uint32_t> numbers_;  // of places, by all that their frames say
  std::vector<uint32_t> of_site_;                      // number plus one; 0: not asked for yet
  std::unordered_map<uint32_t, std::vector<Frame>> stacks_;
  std::unordered_map<uint32_t, std::string> keys_, modules_;
};

// From site-packages on, else relative to `directory`, else from lib/pythonX.Y on, else unchanged.
std::string short_path(const std::string& path, const std::string& directory);
// "wrap<...>::call" for a C++ name whose template arguments are longer than a person reads.
std::string brief_function(const std::string& function);

}  // namespace tensorscope::analyzer
