// SPDX-License-Identifier: Apache-2.0
#include "live/runtime_table.h"

#include "live/serials.h"
#include "support/coverage.h"

namespace tensorscope::live {

constinit RuntimeTable g_runtime_blocks;

Inserted RuntimeTable::add(const RuntimeBlock& block, const Origin& origin) {
  Inserted made;
  Table::Guard guard(table_, block.pointer);
  if (!guard) return made;
  Table::Position place = guard.find_new(block.pointer);
  if (place.row != nullptr) made.replaced = place.row->serial.load(std::memory_order_relaxed);
  if (place.row == nullptr && guard.insert(block.pointer, place) == nullptr) {
    count_missed(Subject::cuda_runtime);
    return made;
  }
  RuntimeRow& row = *place.row;
  row.nbytes = block.nbytes;
  row.created_ns = origin.ns;
  row.site = origin.site;
  row.thread = origin.thread;
  row.kind = uint32_t(block.kind);
  row.by_torch = block.by_torch;
  row.is_allocation = block.is_allocation;
  row.device = block.device;
  made.serial = next_serial();
  row.serial.store(made.serial, std::memory_order_relaxed);
  return made;
}

RuntimeBlock RuntimeTable::remove(const void* pointer, Removed& removed) {
  Table::Guard guard(table_, pointer);
  if (!guard) return {};
  const Table::Position place = guard.find(pointer);
  if (place.row == nullptr) return {};
  const RuntimeRow& row = *place.row;
  const RuntimeBlock block = {pointer,    row.nbytes,        RuntimeKind(row.kind),
                              row.device, row.by_torch != 0, row.is_allocation != 0};
  removed = {row.serial.load(std::memory_order_relaxed), newest_serial()};
  guard.erase(place);
  return block;
}

void RuntimeTable::copy(RuntimeEntry* out) const {
  table_.for_each([&out](const RuntimeRow& row, uint32_t) {
    *out++ = {.pointer = row.key,
              .nbytes = row.nbytes,
              .serial = row.serial.load(std::memory_order_relaxed),
              .created_ns = row.created_ns,
              .site = row.site,
              .thread = row.thread,
              .kind = row.kind,
              .by_torch = row.by_torch,
              .device = row.device};
  });
}

}  // namespace tensorscope::live
