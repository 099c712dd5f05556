// SPDX-License-Identifier: Apache-2.0
// Autograd nodes that were seen being attached to a tensor, so that what their backward allocates can be led back to
// the forward line.
//
// A node's row stays while the node may be alive, and after that while a live allocation refers to it. Torch
// before 2.14 does not report when a node dies: its row then stays until the address is used again, and "the same node"
// means the same address and the same class (first word of the object, its vtable), not yet referred to.
//
// Context: hook, collector. Never hold a Guard of another table while calling: references are taken before an
// allocation is entered and dropped after it is gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "live/address_table.h"
#include "live/entries.h"
#include "live/tensor_table.h"
#include "support/function_ref.h"
#include "support/ids.h"

namespace tensorscope::live {

using NodeId = RowId;  // of a node's row; 0: none

struct NodeRow : AddressRow {
  uint64_t created_ns;
  const void* vtable;
  SiteId site;
  uint32_t thread;
  uint32_t references : 31;  // live allocations made by this node
  uint32_t in_index : 1;     // 0: the node is gone, allocations still refer to it
  SiteId ran_site;           // of the last allocation that it made, 0: none
  bool indexed() const { return in_index; }
};
static_assert(sizeof(NodeRow) == 48);

class NodeTable {
 public:
  constexpr NodeTable() = default;

  // True where nothing is to be done: this very node is in the table. Only known where deaths are reported.
  bool knows(const void* node);
  void add(const void* node, const Origin& origin);
  void remove(const void* node);

  // Takes a reference to a node that runs, and allocates at `site`: 0 where it is not in the table.
  NodeId refer(const void* node, SiteId site);
  void drop(NodeId id);

  // Serial of the row of the node that is at this address now, 0: none.
  Serial serial_at(const void* node);
  ThreadId thread_at(const void* node);  // which made it; 0: not known
  // Where the node at this address was made, 0: it is not in the table.
  SiteId site_at(const void* node);
  // Calls `look` under the lock where a node at this address is in the table. Where deaths are reported,
  // its destructor is held up meanwhile.
  bool look(const void* node, FunctionRef<void()> look);

  void prefetch(const void* node) { table_.prefetch(node); }
  bool lock_all() { return table_.lock_all(); }
  void unlock_all() { table_.unlock_all(); }
  size_t size() const { return table_.size(); }
  // Under lock_all(): writes size() entries, in no order; the serial of a referred node.
  void copy(NodeEntry* out) const;
  Serial serial(NodeId id) const { return id == 0 ? 0 : table_.row(id).serial.load(std::memory_order_relaxed); }

 private:
  using Table = AddressTable<NodeRow>;
  template <typename Taken>
  Taken read(const void* node, Taken (*take)(const NodeRow& row));
  void retire(Table::Guard& guard, const Table::Position& place);

  Table table_;
  std::atomic<bool> deaths_are_told_{false};
};

extern NodeTable g_nodes;

}  // namespace tensorscope::live
