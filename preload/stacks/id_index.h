// SPDX-License-Identifier: Apache-2.0
// A hash index from a 32-bit hash to ids, read without a lock. What an id stands for, and whether it is the one that is
// looked for, the caller knows.
//
// Context: hook. find() by anyone, lock-free; add() under the owner's lock, after a find() under the same lock said no.
// Nothing is ever taken out. A constinit global; memory comes from a limited arena, old tables stay in it (together
// less than the present one).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/arena.h"

namespace tensorscope::stacks {

class IdIndex {
 public:
  // The id (not 0) with this hash for which `is_it(id)` holds, or 0.
  template <typename IsIt>
  uint32_t find(uint32_t hash, const IsIt& is_it) const {
    const Table* table = table_.load(std::memory_order_acquire);
    if (table == nullptr) return 0;
    for (uint32_t at = hash & table->mask;; at = (at + 1) & table->mask) {
      uint64_t slot = table->slots[at].load(std::memory_order_acquire);
      if (slot == 0) return 0;
      if (uint32_t(slot >> 32) == hash && is_it(uint32_t(slot))) return uint32_t(slot);
    }
  }

  // False: no memory, or the limit is reached.
  bool add(Arena& arena, uint32_t hash, uint32_t id);

 private:
  struct Table {
    uint32_t mask;
    std::atomic<uint64_t> slots[1];  // hash << 32 | id; 0: free
  };
  static void insert(Table& table, uint64_t slot);

  std::atomic<Table*> table_{nullptr};
  uint32_t count_ = 0;
};

// All 64 bits of `key` decide about each of the result's 32.
constexpr uint32_t mix_hash(uint64_t key) {
  key ^= key >> 32;
  key *= 0xd6e8feb86659fd93u;
  key ^= key >> 32;
  key *= 0xd6e8feb86659fd93u;
  return uint32_t(key ^ key >> 32);
}

}  // namespace tensorscope::stacks
