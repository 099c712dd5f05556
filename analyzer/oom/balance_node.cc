// SPDX-License-Identifier: Apache-2.0
#include "oom/balance_node.h"

#include "support/enum_words.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr EnumWords<BalanceKind> kNames[] = {
    {BalanceKind::device, "device"},
    {BalanceKind::free, "free"},
    {BalanceKind::this_process, "this process"},
    {BalanceKind::reserved, "reserved"},
    {BalanceKind::allocated, "allocated"},
    {BalanceKind::tensors, "tensors"},
    {BalanceKind::category, "category"},
    {BalanceKind::module, "module"},
    {BalanceKind::in_no_tensor, "in no tensor"},
    {BalanceKind::caller, "caller"},
    {BalanceKind::other_callers, "others"},
    {BalanceKind::rounding, "rounding"},
    {BalanceKind::waiting, "waiting"},
    {BalanceKind::cached, "cached"},
    {BalanceKind::pool, "pool"},
    {BalanceKind::libraries, "libraries"},
    {BalanceKind::library, "library"},
    {BalanceKind::context, "context"},
    {BalanceKind::context_and_pool, "context"},
    {BalanceKind::outside_torch, "outside torch"},
    {BalanceKind::other_processes, "other processes"},
    {BalanceKind::process, "process"},
    {BalanceKind::unexplained, "unexplained"},
    {BalanceKind::cgroup, "cgroup"},
    {BalanceKind::machine, "machine"},
    {BalanceKind::address_space, "address space"},
    {BalanceKind::private_memory, "private memory"},
    {BalanceKind::shared_memory, "shared memory"},
    {BalanceKind::left, "left"},
    {BalanceKind::resident_process, "this process"},
    {BalanceKind::torch, "torch"},
    {BalanceKind::pinned, "pinned"},
    {BalanceKind::profiler, "profiler"},
    {BalanceKind::malloc_in_use, "malloc"},
    {BalanceKind::malloc_free, "malloc's"},
    {BalanceKind::python_heap, "Python's heap"},
    {BalanceKind::rest, "rest"},
    {BalanceKind::not_resident, "not resident"},
    {BalanceKind::child_processes, "child processes"},
    {BalanceKind::unheld_files, "files of no process"},
    {BalanceKind::others, "others"},
};
static_assert(has_each(kNames, BalanceKind::others));

const char* name(BalanceKind kind) { return kNames[size_t(kind)].words; }

}  // namespace

const BalanceNode* BalanceNode::find(BalanceKind wanted) const {
  for (const BalanceNode& below : parts) {
    if (below.kind == wanted) return &below;
    if (const BalanceNode* found = below.find(wanted)) return found;
  }
  return nullptr;
}

std::string name(const BalanceNode& part) {
  return part.kind == BalanceKind::category ? text(part.category) : name(part.kind);
}

BalanceNode balance_node(BalanceKind kind, int64_t bytes, PartNote note) {
  BalanceNode result;
  result.kind = kind;
  result.bytes = bytes;
  result.note = std::move(note);
  return result;
}

BalanceNode optional_node(BalanceKind kind, int64_t bytes, PartNote note) {
  BalanceNode result = balance_node(kind, bytes, std::move(note));
  result.optional = true;
  return result;
}

void add_remainder(BalanceNode& whole, NoteKind why) {
  if (!whole.bytes) return;
  int64_t rest = *whole.bytes;
  for (const BalanceNode& below : whole.parts) {
    if (!below.bytes) return;
    rest -= *below.bytes;
  }
  if (rest != 0) whole.parts.push_back(balance_node(BalanceKind::unexplained, rest, {why}));
}

}  // namespace tensorscope::analyzer::oom
