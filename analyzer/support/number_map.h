// SPDX-License-Identifier: Apache-2.0
// Numbers of rows by 64-bit keys (addresses): one array, open addressing.
//
// Not thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tensorscope::analyzer {

class NumberMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;  // no row has this number

  // `keys`: how many are expected; it grows beyond.
  explicit NumberMap(size_t keys = 0) : slots_(std::bit_ceil(keys + keys / 2 + 2)) {}

  // The number that the key has: `number` if it had none before.
  uint32_t add(uint64_t key, uint32_t number) {
    if ((count_ + 1) * 4 > slots_.size() * 3) grow();
    Slot& slot = slots_[place_of(key)];
    if (slot.number == kNone) {
      slot = {key, number};
      ++count_;
    }
    return slot.number;
  }
  // kNone: it has none.
  uint32_t find(uint64_t key) const { return slots_[place_of(key)].number; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t number = kNone;
  };

  // Of the key, or the free slot where it belongs: there is always one.
  size_t place_of(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    uint64_t hash = key * 0x9e3779b97f4a7c15;
    size_t place = size_t(hash ^ hash >> 32) & mask;
    while (slots_[place].number != kNone && slots_[place].key != key) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    for (const Slot& slot : old) {
      if (slot.number != kNone) slots_[place_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t count_ = 0;
};

}  // namespace tensorscope::analyzer
