// SPDX-License-Identifier: Apache-2.0
// The host's side of balance.h: what of a limit this process has, and what it has it for.
#include <algorithm>

#include "dump_generated.h"
#include "leaks/process_growth.h"
#include "oom/balance.h"

namespace tensorscope::analyzer::oom {

namespace {

// Page-locked memory is no memory of torch's CPU allocator: the CUDA runtime gives it out.
int64_t pinned_bytes(const Dump& dump) {
  int64_t sum = 0;
  for (const RuntimeBlock& block : dump.runtime_blocks) {
    if (block.kind == uint8_t(format::RuntimeKind::pinned)) sum += int64_t(block.nbytes);
  }
  return sum;
}

// What is resident, and for what.
BalanceNode process_part(const View& view) {
  const Totals& totals = view.dump.totals;
  BalanceNode torch = allocated(view, kHost);
  torch.kind = BalanceKind::torch;
  if (totals.resident_bytes == 0) {
    BalanceNode result;
    result.kind = BalanceKind::resident_process;
    result.note = {NoteKind::resident_not_known};
    result.parts = {std::move(torch)};
    return result;
  }
  BalanceNode result = balance_node(BalanceKind::resident_process, counted(totals.resident_bytes));
  int64_t rest = counted(totals.resident_bytes) - *torch.bytes;
  const auto add = [&](BalanceNode below) {
    rest -= *below.bytes;
    result.parts.push_back(std::move(below));
  };
  result.parts.push_back(std::move(torch));
  add(optional_node(BalanceKind::pinned, pinned_bytes(view.dump), {NoteKind::page_locked}));
  add(optional_node(BalanceKind::profiler, counted(totals.profiler_bytes)));
  const bool malloc_known = totals.heap_in_use != 0;
  if (malloc_known) {
    const int64_t heap = std::max<int64_t>(0, counted(totals.heap_in_use) - heap_of_torch(view.dump));
    add(balance_node(BalanceKind::malloc_in_use, heap, {NoteKind::outside_torch}));
    add(optional_node(BalanceKind::malloc_free, counted(totals.heap_free), {NoteKind::kept_for_later}));
  }
  const auto arenas = int64_t(view.dump.process_parts.python_arenas);
  if (arenas > 0) add(optional_node(BalanceKind::python_heap, arenas, {NoteKind::arenas}));
  if (rest >= 0) {
    const NoteKind note = !malloc_known ? NoteKind::code_files_stacks_malloc
                          : arenas > 0  ? NoteKind::code_files_stacks
                                        : NoteKind::code_files_stacks_arenas;
    result.parts.push_back(balance_node(BalanceKind::rest, rest, {note}));
  }
  add_remainder(result, NoteKind::never_written);
  return result;
}

// The limit that this process runs into first, and what is left of it. `total` 0: none is known.
struct Limit {
  format::MemoryLimit limit = format::MemoryLimit::none;
  BalanceKind kind = BalanceKind::machine;
  bool told = false;  // by the failure itself
  int64_t total = 0, left = 0;
};

Limit limit_of(const Dump& dump) {
  const Totals& totals = dump.totals;
  Limit result;
  if (dump.failure) result.limit = format::MemoryLimit(dump.failure->limit);
  if (result.limit == format::MemoryLimit::none || result.limit == format::MemoryLimit::device) {
    result.limit = totals.cgroup_limit != 0    ? format::MemoryLimit::cgroup
                   : totals.machine_total != 0 ? format::MemoryLimit::machine
                                               : format::MemoryLimit::none;
  }
  switch (result.limit) {
    case format::MemoryLimit::cgroup:
      result.kind = BalanceKind::cgroup;
      result.total = counted(totals.cgroup_limit);
      result.left = result.total - counted(std::min(totals.cgroup_current, totals.cgroup_limit));
      break;
    case format::MemoryLimit::machine:
      result.kind = BalanceKind::machine;
      result.total = counted(totals.machine_total);
      result.left = counted(std::min(totals.machine_available, totals.machine_total));
      break;
    case format::MemoryLimit::address_space:
      result.kind = BalanceKind::address_space;
      break;
    case format::MemoryLimit::data:
      result.kind = BalanceKind::private_memory;
      break;
    case format::MemoryLimit::shared_memory:
      result.kind = BalanceKind::shared_memory;
      result.total = counted(dump.process_parts.shared_total);
      result.left = counted(dump.process_parts.shared_left);
      break;
    default:
      return result;
  }
  result.told =
      dump.failure && format::MemoryLimit(dump.failure->limit) == result.limit && dump.failure->limit_bytes != 0;
  if (result.told) {
    result.total = counted(dump.failure->limit_bytes);
    result.left = counted(dump.failure->left_bytes);
  }
  return result;
}

// Files in shared memory are no memory of torch's allocator: processes have them, and what killed ones have left.
BalanceNode shared_memory_balance(const Dump& dump, const Limit& limit) {
  BalanceNode result = balance_node(BalanceKind::shared_memory, limit.total);
  result.parts = {balance_node(BalanceKind::left, limit.left)};
  int64_t rest = limit.total - limit.left;
  for (const SharedHolder& holder : dump.process_parts.shared_holders) {
    const bool own = holder.pid == dump.process.pid;
    const BalanceKind kind = own               ? BalanceKind::this_process
                             : holder.pid == 0 ? BalanceKind::unheld_files
                                               : BalanceKind::process;
    BalanceNode below = balance_node(kind, counted(holder.bytes), {NoteKind::files, holder.files, 0, holder.deleted});
    if (!own) below.note.text = holder.name;
    below.pid = holder.pid;
    rest -= *below.bytes;
    result.parts.push_back(std::move(below));
  }
  if (dump.process_parts.shared_detail.empty()) {
    add_remainder(result, NoteKind::shared_counted);
  } else {
    result.parts.push_back(
        balance_node(BalanceKind::others, rest, {NoteKind::text, 0, 0, 0, dump.process_parts.shared_detail}));
  }
  return result;
}

}  // namespace

BalanceNode host_balance(const View& view) {
  const Totals& totals = view.dump.totals;
  const Limit limit = limit_of(view.dump);
  if (limit.total <= 0) return process_part(view);
  if (limit.kind == BalanceKind::shared_memory) return shared_memory_balance(view.dump, limit);
  BalanceNode result = balance_node(limit.kind, limit.total);
  result.parts = {balance_node(BalanceKind::left, limit.left, {limit.told ? NoteKind::none : NoteKind::copied_tables}),
                  process_part(view)};
  const std::optional<int64_t> own = result.parts.back().bytes;
  if (!own) return result;
  const int64_t rest = limit.total - limit.left - *own;
  if (limit.kind == BalanceKind::address_space || limit.kind == BalanceKind::private_memory) {
    result.parts.push_back(
        balance_node(BalanceKind::not_resident, std::max<int64_t>(0, rest), {NoteKind::counts_against_limit}));
  } else {
    const int64_t children = counted(totals.children_resident_bytes);
    const NoteKind note =
        limit.kind == BalanceKind::cgroup ? NoteKind::group_and_files : NoteKind::processes_and_kernel;
    if (totals.children_known) {
      result.parts.push_back(
          optional_node(BalanceKind::child_processes, children, {NoteKind::children, totals.children}));
    }
    BalanceNode others = balance_node(BalanceKind::others, std::max<int64_t>(0, rest - children), {note});
    if (!totals.children_known)
      others.note = {NoteKind::text, 0, 0, 0, "its own child processes among them: not known"};
    result.parts.push_back(std::move(others));
  }
  add_remainder(result, NoteKind::shared_counted);
  return result;
}

}  // namespace tensorscope::analyzer::oom
