// Memory of the process that grows and is in no tensor.
#include <algorithm>

#include "model/findings/case.h"

namespace tensorscope::model {

namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kLeastEach = 8 * kMiB;  // in each of several intervals, where malloc tells what it keeps for later
constexpr int64_t kLeastOnce =
    64 * kMiB;  // in a single one, where malloc hands out most of it, or without malloc's word

// What the objects of a tensor (TensorImpl, StorageImpl, Python object) and a node take, generously: growth of their
// number is another finding's.
constexpr int64_t kObject = 1 << 10;

struct Memory {
  int64_t resident = 0;
  int64_t tensors = 0;  // in CPU memory: live allocations, and what tensors borrow
  int64_t heap = 0;     // that malloc has handed out and torch's allocator did not get
  int64_t kept = 0;     // by malloc for later
  int64_t profiler = 0;
  int64_t objects = 0;
  bool heap_known = false;
  int64_t outside() const { return resident - tensors - profiler - objects; }
};

Memory memory_of(const View& view) {
  const Totals& totals = view.dump.totals;
  Memory memory;
  memory.resident = int64_t(totals.resident_bytes);
  memory.profiler = int64_t(totals.profiler_bytes);
  memory.kept = int64_t(totals.heap_free);
  for (const DeviceSums& sums : view.accounts.devices()) {
    if (sums.device.type == 0) memory.tensors += int64_t(sums.allocator_bytes() + sums.outside_bytes());
  }
  int64_t of_torch = 0;
  for (const Allocation& allocation : view.dump.allocations) {
    const bool heap = dump::AllocationKind(allocation.kind) == dump::AllocationKind::heap;
    if (heap && allocation.device.type == 0) of_torch += int64_t(allocation.nbytes);
  }
  memory.objects = int64_t(view.dump.tensors.size() + view.dump.graph.nodes.size()) * kObject;
  memory.heap_known = totals.heap_in_use > 0;
  if (memory.heap_known) memory.heap = int64_t(totals.heap_in_use) - of_torch;
  return memory;
}

// What the process grew by, and not for tensors. Memory that tensors gave back and malloc keeps is no growth.
int64_t growth_between(const Memory& before, const Memory& after) {
  const int64_t grown = std::min(after.resident - before.resident, after.outside() - before.outside());
  const bool known = before.heap_known && after.heap_known;
  return grown - (known ? std::max<int64_t>(0, after.kept - before.kept) : 0);
}

bool grows_enough(const std::vector<Memory>& memory) {
  if (memory.size() == 2) {
    const int64_t growth = growth_between(memory[0], memory[1]);
    const bool known = memory[0].heap_known && memory[1].heap_known;
    return known && growth >= kLeastOnce && (memory[1].heap - memory[0].heap) >= growth / 4 * 3;
  }
  // What malloc keeps, of a dump's own work too, looks like growth where it does not tell.
  for (size_t i = 1; i < memory.size(); ++i) {
    const bool known = memory[i - 1].heap_known && memory[i].heap_known;
    if (growth_between(memory[i - 1], memory[i]) < (known ? kLeastEach : kLeastOnce)) return false;
  }
  return true;
}

}  // namespace

void find_process_memory(Case& find) {
  if (find.dumps() < 2 || !find.whole()) return;
  std::vector<Memory> memory;
  for (size_t i = 0; i < find.dumps(); ++i) memory.push_back(memory_of(find.view(i)));
  for (const Memory& one : memory) {
    if (one.resident == 0) return;
  }
  if (!grows_enough(memory)) return;

  LeakFinding finding;
  finding.kind = LeakKind::process_memory;
  finding.subject = "the process itself";
  auto fact = [&](const char* what, auto value, bool bytes = true) {
    Fact result{what, {}, bytes};
    bool any = false;
    for (size_t i = 0; i < find.dumps(); ++i) {
      result.values.push_back(uint64_t(std::max<int64_t>(0, value(i))));
      any = any || result.values.back() != 0;
    }
    if (any) finding.evidence.push_back(std::move(result));
  };
  auto totals = [&](size_t i) -> const Totals& { return find.view(i).dump.totals; };
  fact("resident memory of the process", [&](size_t i) { return memory[i].resident; });
  fact("tensors in CPU memory", [&](size_t i) { return memory[i].tensors; });
  fact("tensorscope itself", [&](size_t i) { return memory[i].profiler; });
  const bool heap_known = std::all_of(memory.begin(), memory.end(), [](const Memory& one) { return one.heap_known; });
  if (heap_known) {
    fact("handed out by malloc, but not to torch", [&](size_t i) { return memory[i].heap; });
    fact("kept by malloc for later", [&](size_t i) { return memory[i].kept; });
  } else {
    finding.evidence.push_back({"malloc's own numbers are not known in every dump"});
  }
  fact("cached by the allocators of devices", [&](size_t i) {
    int64_t sum = 0;
    for (const DeviceTotal& device : totals(i).devices) {
      sum += int64_t(device.allocator_reserved) - int64_t(device.allocator_allocated);
    }
    return sum;
  });
  fact(
      "child processes", [&](size_t i) { return int64_t(totals(i).children); }, /*bytes=*/false);
  fact("resident memory of the child processes", [&](size_t i) { return int64_t(totals(i).children_resident_bytes); });
  for (const Memory& one : memory) {
    finding.growth.count.push_back(0);
    finding.growth.bytes.push_back(uint64_t(std::max<int64_t>(0, one.outside())));
  }
  finding.bytes = finding.growth.bytes.back();
  const int64_t heap = memory.back().heap - memory.front().heap, all = finding.growth.added_bytes();
  if (!heap_known) {
    finding.look_at = "Python objects, numpy arrays, a C++ library, mapped files or thread stacks: not tensors";
  } else if (heap >= all / 2) {
    finding.look_at = "malloc hands it out: Python objects, numpy arrays, strings or a C++ library, not tensors";
  } else {
    finding.look_at = "not malloc either: mapped files, thread stacks, Python's own arenas or a library's pool";
  }
  find.add(std::move(finding));
}

}  // namespace tensorscope::model
