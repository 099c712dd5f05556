#include "oom/part.h"

namespace tensorscope::model::oom {

namespace {

const char* name(PartKind kind) {
  switch (kind) {
    case PartKind::device:
      return "device";
    case PartKind::free:
      return "free";
    case PartKind::this_process:
    case PartKind::resident_process:
      return "this process";
    case PartKind::reserved:
      return "reserved";
    case PartKind::allocated:
      return "allocated";
    case PartKind::tensors:
      return "tensors";
    case PartKind::category:
      return "category";
    case PartKind::module:
      return "module";
    case PartKind::in_no_tensor:
      return "in no tensor";
    case PartKind::caller:
      return "caller";
    case PartKind::other_callers:
    case PartKind::others:
      return "others";
    case PartKind::rounding:
      return "rounding";
    case PartKind::waiting:
      return "waiting";
    case PartKind::cached:
      return "cached";
    case PartKind::pool:
      return "pool";
    case PartKind::libraries:
      return "libraries";
    case PartKind::library:
      return "library";
    case PartKind::context:
    case PartKind::context_and_pool:
      return "context";
    case PartKind::outside_torch:
      return "outside torch";
    case PartKind::other_processes:
      return "other processes";
    case PartKind::process:
      return "process";
    case PartKind::unexplained:
      return "unexplained";
    case PartKind::cgroup:
      return "cgroup";
    case PartKind::machine:
      return "machine";
    case PartKind::address_space:
      return "address space";
    case PartKind::private_memory:
      return "private memory";
    case PartKind::left:
      return "left";
    case PartKind::torch:
      return "torch";
    case PartKind::pinned:
      return "pinned";
    case PartKind::profiler:
      return "profiler";
    case PartKind::malloc_in_use:
      return "malloc";
    case PartKind::malloc_free:
      return "malloc's";
    case PartKind::python_heap:
      return "Python's heap";
    case PartKind::rest:
      return "rest";
    case PartKind::not_resident:
      return "not resident";
    case PartKind::child_processes:
      return "child processes";
  }
  return "";
}

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

}  // namespace tensorscope::model::oom
