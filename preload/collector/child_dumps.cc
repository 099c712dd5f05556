// SPDX-License-Identifier: Apache-2.0
#include "collector/child_dumps.h"

#include "collector/dump_budget.h"
#include "collector/wake.h"
#include "dump/child_processes.h"
#include "support/copy_text.h"
#include "support/fresh_in_child.h"
#include "support/options.h"
#include "support/process_info.h"

namespace tensorscope::collector {

namespace {

using dump::Descendant;
using dump::Descendants;

constexpr uint64_t kGrownBytes = uint64_t{4} << 20;

// As they were at the last dump that was asked for.
constinit Descendants g_last;
FreshInChild g_fresh_last{[] { g_last.count = 0; }};

// Of this process, as it was when it had written its last dump for an ancestor: the dump itself takes memory.
struct OwnMemory {
  bool known = false;
  dump::MemoryOfProcess after_dump;
};
constinit OwnMemory g_own;
FreshInChild g_fresh_own{g_own};

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
    if (each.memory.shared_anonymous > left || (!dump.all && growth_of(each) < kGrownBytes)) continue;
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
  dump::MemoryOfProcess now;
  return !g_own.known || !dump::read_memory_of("self", now) || now.growth_since(g_own.after_dump) >= kGrownBytes;
}

void note_own_dump() { g_own.known = dump::read_memory_of("self", g_own.after_dump); }

}  // namespace tensorscope::collector
