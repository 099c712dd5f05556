// SPDX-License-Identifier: Apache-2.0
#include "live/tensor_table.h"

#include "live/serials.h"
#include "live/site_table.h"
#include "support/coverage.h"

namespace tensorscope::live {

constinit TensorTable g_tensors;

template <typename Change>
Removed TensorTable::change(const void* impl, Change change) {
  Table::Guard guard(table_, impl);
  if (!guard) return {};
  const Table::Position place = guard.find(impl);
  if (place.row == nullptr) return {};
  const Removed removed = {place.row->serial.load(std::memory_order_relaxed), newest_serial()};
  change(guard, place);
  return removed;
}

Removed TensorTable::mark_released(const void* impl) {
  return change(impl, [](Table::Guard&, const Table::Position& place) { place.row->released = 1; });
}

Removed TensorTable::remove(const void* impl) {
  return change(impl, [](Table::Guard& guard, const Table::Position& place) {
    g_sites.tensor_gone(place.row->site);
    guard.erase(place);
  });
}

Removed TensorTable::forget(const void* impl) {
  return change(impl, [](Table::Guard& guard, const Table::Position& place) {
    g_sites.tensor_never_made(place.row->site);
    guard.erase(place);
  });
}

bool TensorTable::look(const TensorEntry& entry, FunctionRef<void(size_t index)> look, size_t index) {
  Table::Guard guard(table_, entry.impl);
  if (!guard) return false;
  const Table::Position place = guard.find(entry.impl);
  const bool same = place.row != nullptr && place.row->serial.load(std::memory_order_relaxed) == entry.serial &&
                    place.row->released == entry.released;
  if (same) look(index);
  return true;
}

Serial TensorTable::serial(const void* impl) {
  Table::Guard guard(table_, impl);
  if (!guard) return 0;
  const Table::Position place = guard.find(impl);
  return place.row == nullptr ? 0 : place.row->serial.load(std::memory_order_relaxed);
}

void TensorTable::copy(TensorEntry* out) const {
  table_.for_each([&out](const TensorRow& row, uint32_t) {
    TensorEntry& entry = *out++;
    entry.impl = row.key;
    entry.serial = row.serial.load(std::memory_order_relaxed);
    entry.created_ns = row.created_ns;
    entry.site = row.site;
    entry.thread = row.thread;
    entry.released = row.released;
  });
}

}  // namespace tensorscope::live
