// SPDX-License-Identifier: Apache-2.0
// From addresses to small numbers: what reading a graph of millions of nodes needs of a hash table.
//
// Context: collector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/probing.h"

namespace tensorscope::torch {

class AddressMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void reserve(size_t count) {
    size_t room = 64;
    while (room < count * 2) room *= 2;
    if (room > slots_.size()) grow(room);
  }

  // The number of `address`, kNone: it has none.
  uint32_t find(uint64_t address) const {
    if (slots_.empty()) return kNone;
    return slots_[place_of(address)].number;
  }

  // The number under which `address` (not 0) is known: `number` where it was not known yet.
  uint32_t try_add(uint64_t address, uint32_t number) { return slot(address, number).number; }
  void set(uint64_t address, uint32_t number) { slot(address, number).number = number; }

 private:
  struct Slot {
    uint64_t address = 0;
    uint32_t number = kNone;
  };

  // Where it stands or would stand.
  size_t place_of(uint64_t address) const {
    return probe(slots_, spread_bits(address) >> 20,
                 [=](const Slot& slot) { return slot.address == address || slot.address == 0; });
  }

  Slot& slot(uint64_t address, uint32_t number) {
    if ((used_ + 1) * 2 > slots_.size()) grow(slots_.empty() ? 64 : slots_.size() * 2);
    Slot& place = slots_[place_of(address)];
    if (place.address == 0) {
      place = {address, number};
      ++used_;
    }
    return place;
  }

  void grow(size_t room) {
    std::vector<Slot> old(room);
    old.swap(slots_);
    for (const Slot& present : old) {
      if (present.address != 0) slots_[place_of(present.address)] = present;
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t used_ = 0;
};

}  // namespace tensorscope::torch
