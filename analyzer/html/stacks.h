// Stacks of a dump as columns of a page: every stack once, as a tree whose leaves are stacks, innermost frame last.
#pragma once

#include <array>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "html/payload.h"
#include "memory/opened_dump.h"

namespace tensorscope::html {

class Stacks {
 public:
  Stacks(analyzer::OpenedDump& opened, Texts& texts);

  // The row of a site in the page's table of sites; 0: no stack.
  uint64_t row(uint32_t site);

  Json json(Payload& payload) const;

 private:
  void add(uint32_t site);
  uint64_t child(uint64_t parent, uint64_t frame);
  uint64_t number(const analyzer::Frame& frame);

  analyzer::OpenedDump& opened_;
  Texts& texts_;
  std::unordered_map<uint32_t, uint32_t> rows_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> children_;
  std::map<std::array<uint64_t, 6>, uint64_t> frames_;
  std::vector<uint64_t> where_, leaf_, module_, source_, id_, parent_, frame_;
  std::vector<uint64_t> native_, function_, file_, line_, object_, frame_source_;
};

}  // namespace tensorscope::html
