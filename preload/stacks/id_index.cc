// SPDX-License-Identifier: Apache-2.0
#include "stacks/id_index.h"

namespace tensorscope::stacks {

namespace {
constexpr uint32_t kFirstCapacity = 1024;
}

void IdIndex::insert(Table& table, uint64_t slot) {
  uint32_t at = uint32_t(slot >> 32) & table.mask;
  while (table.slots[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & table.mask;
  table.slots[at].store(slot, std::memory_order_release);
}

bool IdIndex::add(Arena& arena, uint32_t hash, uint32_t id) {
  Table* table = table_.load(std::memory_order_relaxed);
  if (table == nullptr || count_ >= (table->mask + 1) / 2) {
    uint64_t capacity = table == nullptr ? kFirstCapacity : (uint64_t{table->mask} + 1) * 2;
    if (capacity > uint64_t{1} << 31) return false;
    auto* larger = static_cast<Table*>(arena.allocate(sizeof(Table) + capacity * sizeof(uint64_t), alignof(Table)));
    if (larger == nullptr) return false;
    larger->mask = uint32_t(capacity - 1);
    for (uint64_t at = 0; table != nullptr && at <= table->mask; ++at) {
      if (uint64_t slot = table->slots[at].load(std::memory_order_relaxed)) insert(*larger, slot);
    }
    table_.store(larger, std::memory_order_release);
    table = larger;
  }
  insert(*table, uint64_t{hash} << 32 | id);
  ++count_;
  return true;
}

}  // namespace tensorscope::stacks
