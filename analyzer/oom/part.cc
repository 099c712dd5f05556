#include "oom/part.h"

#include "support/enum_words.h"

namespace tensorscope::analyzer::oom {

namespace {

constexpr EnumWords<PartKind> kNames[] = {
    {PartKind::device, "device"},
    {PartKind::free, "free"},
    {PartKind::this_process, "this process"},
    {PartKind::reserved, "reserved"},
    {PartKind::allocated, "allocated"},
    {PartKind::tensors, "tensors"},
    {PartKind::category, "category"},
    {PartKind::module, "module"},
    {PartKind::in_no_tensor, "in no tensor"},
    {PartKind::caller, "caller"},
    {PartKind::other_callers, "others"},
    {PartKind::rounding, "rounding"},
    {PartKind::waiting, "waiting"},
    {PartKind::cached, "cached"},
    {PartKind::pool, "pool"},
    {PartKind::libraries, "libraries"},
    {PartKind::library, "library"},
    {PartKind::context, "context"},
    {PartKind::context_and_pool, "context"},
    {PartKind::outside_torch, "outside torch"},
    {PartKind::other_processes, "other processes"},
    {PartKind::process, "process"},
    {PartKind::unexplained, "unexplained"},
    {PartKind::cgroup, "cgroup"},
    {PartKind::machine, "machine"},
    {PartKind::address_space, "address space"},
    {PartKind::private_memory, "private memory"},
    {PartKind::shared_memory, "shared memory"},
    {PartKind::left, "left"},
    {PartKind::resident_process, "this process"},
    {PartKind::torch, "torch"},
    {PartKind::pinned, "pinned"},
    {PartKind::profiler, "profiler"},
    {PartKind::malloc_in_use, "malloc"},
    {PartKind::malloc_free, "malloc's"},
    {PartKind::python_heap, "Python's heap"},
    {PartKind::rest, "rest"},
    {PartKind::not_resident, "not resident"},
    {PartKind::child_processes, "child processes"},
    {PartKind::unheld_files, "files of no process"},
    {PartKind::others, "others"},
};
static_assert(has_each(kNames, PartKind::others));

const char* name(PartKind kind) { return kNames[size_t(kind)].words; }

}  // namespace

const Part* Part::find(PartKind wanted) const {
  for (const Part& below : parts) {
    if (below.kind == wanted) return &below;
    if (const Part* found = below.find(wanted)) return found;
  }
  return nullptr;
}

std::string name(const Part& part) { return part.kind == PartKind::category ? text(part.category) : name(part.kind); }

Part part(PartKind kind, int64_t bytes, PartNote note) {
  Part result;
  result.kind = kind;
  result.bytes = bytes;
  result.note = std::move(note);
  return result;
}

Part spare(PartKind kind, int64_t bytes, PartNote note) {
  Part result = part(kind, bytes, std::move(note));
  result.optional = true;
  return result;
}

void close(Part& whole, NoteKind why) {
  if (!whole.bytes) return;
  int64_t rest = *whole.bytes;
  for (const Part& below : whole.parts) {
    if (!below.bytes) return;
    rest -= *below.bytes;
  }
  if (rest != 0) whole.parts.push_back(part(PartKind::unexplained, rest, {why}));
}

}  // namespace tensorscope::analyzer::oom
