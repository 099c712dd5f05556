// SPDX-License-Identifier: Apache-2.0
// Every TensorImpl that is constructed and not yet destroyed.
//
// Context: hook, collector. An event holds one shard's lock for well under a microsecond.
#pragma once

#include <cstddef>
#include <cstdint>

#include "live/address_table.h"
#include "live/entries.h"
#include "live/serials.h"
#include "live/site_table.h"
#include "support/coverage.h"
#include "support/function_ref.h"
#include "support/ids.h"

namespace tensorscope::live {

struct TensorRow : AddressRow {
  uint64_t created_ns;
  SiteId site;
  uint32_t thread : 24;
  uint32_t released : 8;  // 1: its memory is no longer its own
  bool indexed() const { return true; }
};
static_assert(sizeof(TensorRow) == 32);

struct Origin {
  uint64_t ns = 0;
  SiteId site = 0;
  ThreadId thread = 0;
};

// A tensor as its thread remembers it. A serial is never reused, so a look at the row needs no lock.
struct TensorReference {
  const TensorRow* row = nullptr;
  const void* impl = nullptr;
  Serial serial = 0;
  SiteId site = 0;
  Serial replaced = 0;  // what stood there before, 0: nothing
  bool is(const void* other) const {
    return impl == other && row != nullptr && row->serial.load(std::memory_order_relaxed) == serial;
  }
};

class TensorTable {
 public:
  constexpr TensorTable() = default;

  // An entry that is still there for this address is replaced: its destructor was missed. A null row: no memory, no
  // lock. Into `made`, which stays where it is: a copy of what was just written would wait for the writing.
  void add(const void* impl, const Origin& origin, TensorReference& made);
  Removed mark_released(const void* impl);
  Removed remove(const void* impl);
  // Takes out what is no tensor to a user, as if it had never been there.
  Removed forget(const void* impl);

  // Calls look(index) under the lock where `entry` is still the same tensor in the same state. False: no lock.
  bool look(const TensorEntry& entry, FunctionRef<void(size_t index)> look, size_t index);
  // 0: no row for this address, or no lock.
  Serial serial(const void* impl);

  void prefetch(const void* impl) { table_.prefetch(impl); }
  bool lock_all() { return table_.lock_all(); }
  void unlock_all() { table_.unlock_all(); }
  size_t size() const { return table_.size(); }
  // Under lock_all(): writes size() entries, in no order.
  void copy(TensorEntry* out) const;

 private:
  using Table = AddressTable<TensorRow>;
  template <typename Change>
  Removed change(const void* impl, Change change);
  Table table_;
};

extern TensorTable g_tensors;

// At one place: so it becomes a part of the event, which fetches fewer cache lines then.
[[gnu::always_inline]] inline void TensorTable::add(const void* impl, const Origin& origin, TensorReference& made) {
  made.row = nullptr;
  made.serial = 0;
  Table::Guard guard(table_, impl);
  if (!guard) return;
  Table::Position place = guard.find_new(impl);
  Serial replaced = 0;
  if (__builtin_expect(place.row != nullptr, false)) {
    replaced = place.row->serial.load(std::memory_order_relaxed);
    g_sites.tensor_gone(place.row->site);
    count_missed(Subject::tensors);
  } else if (__builtin_expect(guard.insert(impl, place) == nullptr, false)) {
    return count_missed(Subject::tensors);
  }
  TensorRow& row = *place.row;
  row.created_ns = origin.ns;
  row.site = origin.site;
  row.thread = origin.thread;
  row.released = 0;
  const Serial serial = next_serial();
  row.serial.store(serial, std::memory_order_relaxed);
  g_sites.tensor_made(origin.site);
  made.row = &row;
  made.impl = impl;
  made.serial = serial;
  made.site = origin.site;
  made.replaced = replaced;
}

}  // namespace tensorscope::live
