// SPDX-License-Identifier: Apache-2.0
// Texts, each once, numbered from 0, which is the empty one. Growing may fail: then intern() answers 0 and full() is
// true permanently.
//
// Context: collector, heap inspector; one thread at a time.
#pragma once

#include <cstdint>
#include <string_view>

#include "support/page_array.h"

namespace tensorscope::python {

class TextPool {
 public:
  uint32_t intern(std::string_view text);
  // Valid until the next intern(). A zero follows.
  std::string_view operator[](uint32_t number) const;
  uint32_t size() const { return uint32_t(ends_.size()) + 1; }
  bool full() const { return full_; }
  // Of all texts and their numbers.
  uint64_t bytes() const { return characters_.size() + ends_.size() * sizeof(uint64_t); }

 private:
  struct Slot {
    uint32_t hash, number;  // 0: free
  };
  bool make_room();
  Slot* slot_of(std::string_view text, uint32_t hash);

  PageArray<char> characters_;
  PageArray<uint64_t> ends_;  // of text 1, 2, ...; the zero behind it included
  PageArray<Slot> slots_;     // a power of two, at most three quarters full
  bool full_ = false;
};

}  // namespace tensorscope::python
