// SPDX-License-Identifier: Apache-2.0
// Open addressing with linear probing, for tables of one thread: where a key stands or would stand. The table itself
// (an array whose size is a power of two, with at least one free slot) belongs to the caller.
//
// Context: any. Tables that several threads use have a layout of their own (live/address_table.h, stacks/id_index.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/spread_bits.h"

namespace tensorscope {

// The first slot from `start` on for which `ends(slot)` holds.
template <typename Slots, typename Ends>
size_t probe(const Slots& slots, size_t start, const Ends& ends) {
  const size_t mask = slots.size() - 1;
  size_t at = start & mask;
  while (!ends(slots[at])) at = (at + 1) & mask;
  return at;
}

}  // namespace tensorscope
