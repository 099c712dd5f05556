// SPDX-License-Identifier: Apache-2.0
#include "live/node_table.h"

#include "live/serials.h"
#include "support/coverage.h"

namespace tensorscope::live {

constinit NodeTable g_nodes;

namespace {
const void* vtable_of(const void* node) { return *static_cast<const void* const*>(node); }
}  // namespace

// What `take` says of the row of the node that is at this address now; 0 where there is none.
template <typename Taken>
Taken NodeTable::read(const void* node, Taken (*take)(const NodeRow& row)) {
  Table::Guard guard(table_, node);
  if (!guard) return Taken();
  const Table::Position place = guard.find(node);
  return place.row == nullptr ? Taken() : take(*place.row);
}

bool NodeTable::knows(const void* node) {
  if (!deaths_are_told_.load(std::memory_order_relaxed)) return false;
  return read<bool>(node, [](const NodeRow& row) { return row.vtable == vtable_of(row.key); });
}

void NodeTable::add(const void* node, const Origin& origin) {
  Table::Guard guard(table_, node);
  if (!guard) return;
  Table::Position place = guard.find(node);
  if (place.row != nullptr && place.row->references != 0) {
    retire(guard, place);
    place = guard.find(node);
  }
  if (place.row == nullptr && guard.insert(node, place) == nullptr) return count_missed(Subject::autograd);
  NodeRow& row = *place.row;
  row.created_ns = origin.ns;
  row.vtable = vtable_of(node);
  row.site = origin.site;
  row.thread = origin.thread;
  row.references = 0;
  row.in_index = true;
  row.ran_site = 0;
  row.serial.store(next_serial(), std::memory_order_relaxed);
}

void NodeTable::remove(const void* node) {
  deaths_are_told_.store(true, std::memory_order_relaxed);
  Table::Guard guard(table_, node);
  if (!guard) return;
  if (const Table::Position place = guard.find(node); place.row != nullptr) retire(guard, place);
}

void NodeTable::retire(Table::Guard& guard, const Table::Position& place) {
  guard.unlink(place);
  place.row->in_index = false;
  if (place.row->references == 0) guard.release(place.number);
}

NodeId NodeTable::refer(const void* node, SiteId site) {
  Table::Guard guard(table_, node);
  if (!guard) return 0;
  const Table::Position place = guard.find(node);
  // A node of another class at this address: the one in the table died untold.
  if (place.row == nullptr || place.row->vtable != vtable_of(node)) return 0;
  ++place.row->references;
  place.row->ran_site = site;
  return guard.id(place);
}

void NodeTable::drop(NodeId id) {
  Table::Guard guard = Table::Guard::of_row(table_, id);
  if (!guard) return;
  NodeRow& row = guard.row(id);
  if (--row.references == 0 && !row.in_index) guard.release(guard.number(id));
}

Serial NodeTable::serial_at(const void* node) {
  return read<Serial>(node, [](const NodeRow& row) { return row.serial.load(std::memory_order_relaxed); });
}

ThreadId NodeTable::thread_at(const void* node) {
  return read<ThreadId>(node, [](const NodeRow& row) { return row.thread; });
}

SiteId NodeTable::site_at(const void* node) {
  return read<SiteId>(node, [](const NodeRow& row) { return row.vtable == vtable_of(row.key) ? row.site : 0; });
}

bool NodeTable::look(const void* node, FunctionRef<void()> look) {
  Table::Guard guard(table_, node);
  if (!guard) return false;
  if (guard.find(node).row == nullptr) return false;
  look();
  return true;
}

void NodeTable::copy(NodeEntry* out) const {
  const bool deaths_are_told = deaths_are_told_.load(std::memory_order_relaxed);
  table_.for_each([&](const NodeRow& row, uint32_t) {
    NodeEntry& entry = *out++;
    entry.node = row.key;
    entry.vtable = row.vtable;
    entry.serial = row.serial.load(std::memory_order_relaxed);
    entry.created_ns = row.created_ns;
    entry.site = row.site;
    entry.ran_site = row.ran_site;
    entry.thread = row.thread;
    entry.alive = row.in_index && deaths_are_told;
    entry.removed = !row.in_index;
  });
}

}  // namespace tensorscope::live
