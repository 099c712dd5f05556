// SPDX-License-Identifier: Apache-2.0
// Stacks of a dump as columns of a page: every stack once, as a tree whose leaves are stacks, innermost frame last.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "html/payload.h"
#include "memory/opened_dump.h"

namespace tensorscope::html {

class Stacks {
  using Numbers = std::vector<uint32_t>;

 public:
  Stacks(analyzer::OpenedDump& opened, Texts& texts);

  // The row of a site in the page's table of sites; 0: no stack.
  uint64_t row(uint32_t site);

  Json json(Payload& payload) const;

 private:
  void add(uint32_t site);
  uint32_t child(uint32_t parent, uint32_t frame);
  uint32_t& place_of(uint32_t parent, uint32_t frame);
  void make_room();
  uint32_t number(const analyzer::Frame& frame);

  analyzer::OpenedDump& opened_;
  Texts& texts_;
  Numbers rows_;  // of each site; 0: it has none yet
  // Nodes by parent and frame: a million stacks have ten million of them. A power of two of places, 0 where none is.
  std::vector<uint32_t> children_;
  std::map<std::array<uint32_t, 6>, uint32_t> frames_;
  Numbers where_, leaf_, module_, source_, id_, parent_, frame_;
  Numbers native_, function_, file_, line_, object_, frame_source_;
};

}  // namespace tensorscope::html
