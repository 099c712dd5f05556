// SPDX-License-Identifier: Apache-2.0
#include "collector/child_dumps.h"

#include <algorithm>

#include "collector/dump_budget.h"
#include "collector/wake.h"
#include "dump/child_processes.h"
#include "dump/fork_gate.h"
#include "dump/heap_totals.h"
#include "support/copy_text.h"
#include "support/fresh_in_child.h"
#include "support/options.h"
#include "support/process_info.h"
#include "tensorscope/rules/child_growth.h"

namespace tensorscope::collector {

namespace {

using dump::Descendant;
using dump::Descendants;

// As they were at the last dump that was asked for.
constinit Descendants g_last;
FreshInChild g_fresh_last{[] { g_last.count = 0; }};

// Of this process. What malloc keeps for later is not the program's: a dump leaves such memory.
struct OwnMemory {
  bool known = false;
  dump::MemoryOfProcess all;
  uint64_t free = 0;
};
constinit OwnMemory g_after_dump;  // the last one for an ancestor
FreshInChild g_fresh_after_dump{g_after_dump};

OwnMemory own_memory() {
  OwnMemory now;
  const dump::ForkGateScope gate;  // malloc's locks
  now.known = gate && dump::read_memory_of("self", now.all);
  if (now.known) now.free = dump::read_heap_totals().free;
  return now;
}

// A descendant that was asked asks none of its own: its ancestor has asked them all.
bool may_ask(const DumpRequest& request) {
  return options().children != ChildDumps::never && !request.ancestor && !request.passing &&
         (request.reason == Reason::signal || request.reason == Reason::call);
}

uint64_t growth_of(const Descendant& now) {
  for (size_t i = 0; i < g_last.count; ++i) {
    const Descendant& before = g_last.all[i];
    if (before.pid == now.pid && before.started == now.started) return now.memory.growth_since(before.memory);
  }
  return 0;
}

// Listing Python's objects writes to each of them, so that a forked child may copy all that it shares with its parent.
// As many dumps are asked for as take a small part of what is left in any case.
void ask(const Descendants& descendants, DumpOfAncestor& dump) {
  constexpr uint64_t kShare = 16;
  dump.all = options().children == ChildDumps::all;
  uint64_t left = MemoryRoom::now().left / kShare;
  for (size_t i = 0; i < descendants.count; ++i) {
    const Descendant& each = descendants.all[i];
    if (each.memory.shared_anonymous > left || (!dump.all && growth_of(each) < rules::kLeastChildGrowth)) continue;
    if (ask_descendant(each.pid, dump)) left -= each.memory.shared_anonymous;
  }
}

}  // namespace

void look_at_children(const DumpRequest& request, dump::DumpFacts& facts) {
  if (!may_ask(request)) {
    facts.children = dump::read_child_processes();
    return;
  }
  Descendants now;
  facts.children = dump::read_child_processes(&now);
  DumpOfAncestor dump;
  copy_text(process_info().run_id, dump.run_id);
  dump.pid = process_info().pid;
  dump.number = facts.number;
  ask(now, dump);
  g_last = now;
}

bool has_grown_since_own_dump() {
  if (!g_after_dump.known) return true;
  const OwnMemory now = own_memory();
  const uint64_t more_free = std::max(now.free, g_after_dump.free) - g_after_dump.free;
  return !now.known || now.all.growth_since(g_after_dump.all) >= rules::kLeastChildGrowth + more_free;
}

void note_own_dump() { g_after_dump = own_memory(); }

}  // namespace tensorscope::collector
