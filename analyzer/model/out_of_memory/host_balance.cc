// The host's side of balance.h: what of a limit this process has, and what it has it for.
#include <algorithm>

#include "dump_generated.h"
#include "model/out_of_memory/balance.h"

namespace tensorscope::model::oom {

namespace {

Part part(const char* name, int64_t bytes, std::string note = "", bool optional = false) {
  Part result;
  result.name = name;
  result.bytes = bytes;
  result.note = std::move(note);
  result.optional = optional;
  return result;
}

// Page-locked memory is no memory of torch's CPU allocator: the CUDA runtime gives it out.
int64_t pinned_bytes(const Dump& dump) {
  int64_t sum = 0;
  for (const RuntimeBlock& block : dump.runtime_blocks) {
    if (block.kind == uint8_t(dump::RuntimeKind::pinned)) sum += int64_t(block.nbytes);
  }
  return sum;
}

int64_t heap_of_torch(const Dump& dump) {
  int64_t sum = 0;
  for (const Allocation& allocation : dump.allocations) {
    const bool heap = allocation.kind == uint8_t(dump::AllocationKind::heap);
    if (heap && allocation.device.is_cpu()) sum += int64_t(allocation.nbytes);
  }
  return sum;
}

// What is resident, and for what.
Part process_part(const View& view) {
  const Totals& totals = view.dump.totals;
  Part torch = allocated(view, kHost);
  torch.name = "torch";
  torch.label = "torch's allocator";
  Part result;
  result.name = "this process";
  result.label = "this process, resident";
  if (totals.resident_bytes == 0) {
    result.note = "how much is resident is not known";
    result.parts = {std::move(torch)};
    return result;
  }
  result.bytes = counted(totals.resident_bytes);
  int64_t rest = counted(totals.resident_bytes) - *torch.bytes;
  const auto add = [&](Part below) {
    rest -= *below.bytes;
    result.parts.push_back(std::move(below));
  };
  result.parts.push_back(std::move(torch));
  add(part("pinned", pinned_bytes(view.dump), "page-locked, from the CUDA runtime", true));
  add(part("profiler", counted(totals.profiler_bytes), "tensorscope itself", true));
  if (totals.heap_in_use != 0) {
    const int64_t heap = std::max<int64_t>(0, counted(totals.heap_in_use) - heap_of_torch(view.dump));
    add(part("malloc", heap, "handed out, but not to torch: Python objects, numpy, libraries"));
    add(part("malloc's", counted(totals.heap_free), "freed, but kept for later", true));
    result.parts.back().label = "kept by malloc";
  }
  if (rest >= 0) {
    result.parts.push_back(part("rest", rest,
                                totals.heap_in_use != 0 ? "code, mapped files, stacks, Python's own arenas"
                                                        : "malloc's own numbers are not known; code, files, stacks"));
  }
  close(result, "memory that was asked for and is not resident: never written to, or swapped out");
  return result;
}

}  // namespace

Part host_balance(const View& view) {
  const Totals& totals = view.dump.totals;
  auto limit = dump::MemoryLimit::none;
  if (view.dump.failure) limit = dump::MemoryLimit(view.dump.failure->limit);
  if (limit == dump::MemoryLimit::none || limit == dump::MemoryLimit::device) {
    limit = totals.cgroup_limit != 0    ? dump::MemoryLimit::cgroup
            : totals.machine_total != 0 ? dump::MemoryLimit::machine
                                        : dump::MemoryLimit::none;
  }
  const bool told =
      view.dump.failure && dump::MemoryLimit(view.dump.failure->limit) == limit && view.dump.failure->limit_bytes != 0;
  int64_t total = 0, left = 0;
  Part result;
  switch (limit) {
    case dump::MemoryLimit::cgroup:
      result.name = "cgroup";
      result.label = "the control group's limit";
      total = counted(totals.cgroup_limit);
      left = total - counted(std::min(totals.cgroup_current, totals.cgroup_limit));
      break;
    case dump::MemoryLimit::machine:
      result.name = "machine";
      result.label = "the machine";
      total = counted(totals.machine_total);
      left = counted(std::min(totals.machine_available, totals.machine_total));
      break;
    case dump::MemoryLimit::address_space:
      result.name = "address space";
      result.label = "RLIMIT_AS, address space";
      break;
    case dump::MemoryLimit::data:
      result.name = "private memory";
      result.label = "RLIMIT_DATA, private memory";
      break;
    default:
      return process_part(view);
  }
  if (told) {
    total = counted(view.dump.failure->limit_bytes);
    left = counted(view.dump.failure->left_bytes);
  }
  if (total <= 0) return process_part(view);
  result.bytes = total;
  result.parts = {part("left", left, told ? "" : "when the tables were copied"), process_part(view)};
  const std::optional<int64_t> own = result.parts.back().bytes;
  if (!own) return result;
  if (limit == dump::MemoryLimit::address_space || limit == dump::MemoryLimit::data) {
    Part mapped = part("not resident", std::max<int64_t>(0, total - left - *own),
                       "reserved by libraries, thread stacks, files; it counts against this limit all the same");
    mapped.label = "mapped, but not resident";
    result.parts.push_back(std::move(mapped));
  } else {
    result.parts.push_back(part("child processes", counted(totals.children_resident_bytes),
                                std::to_string(totals.children) + " of them", true));
    const int64_t rest = total - left - *own - *result.parts.back().bytes;
    Part others = part("others", std::max<int64_t>(0, rest),
                       limit == dump::MemoryLimit::cgroup ? "other processes of the group, cached files"
                                                          : "other processes, the kernel");
    others.label = "everything else";
    result.parts.push_back(std::move(others));
  }
  close(result, "memory that is shared is counted for each of those who share it");
  return result;
}

}  // namespace tensorscope::model::oom
