#include "model/findings/process_growth.h"

#include <algorithm>

#include "dump_generated.h"

namespace tensorscope::model {

namespace {

constexpr int64_t kLeastTold = 32 << 20;

// What the objects of a tensor (TensorImpl, StorageImpl, Python object) and a node take, generously: growth of their
// number is another finding's.
constexpr int64_t kObject = 1 << 10;

int64_t growth_of(const Fact& fact) { return int64_t(fact.values.back() - fact.values.front()); }

struct PartOf {
  const char* what;
  int64_t (*bytes)(const View&, const ProcessMemory&);
  bool (*known)(const View&);
  const char* look_at;
};

const Totals& totals(const View& view) { return view.dump.totals; }

int64_t cached_by_devices(const View& view, const ProcessMemory&) {
  int64_t sum = 0;
  for (const DeviceTotal& device : totals(view).devices) {
    sum += int64_t(device.allocator_reserved) - int64_t(device.allocator_allocated);
  }
  return sum;
}

// Private pages that neither malloc, nor tensors, nor tensorscope asked for.
int64_t other_anonymous(const View& view, const ProcessMemory& memory) {
  return int64_t(totals(view).anonymous_bytes) - memory.tensors - memory.heap - memory.kept - memory.profiler;
}

bool always(const View&) { return true; }
bool heap_known(const View& view) { return totals(view).heap_in_use > 0; }
bool kinds_known(const View& view) { return totals(view).anonymous_bytes > 0; }
bool private_known(const View& view) { return heap_known(view) && kinds_known(view); }
bool children_known(const View& view) { return totals(view).children == 0 || totals(view).children_private_bytes > 0; }

const std::vector<PartOf>& parts() {
  static const std::vector<PartOf> kParts = {
      {"tensors in CPU memory", [](const View&, const ProcessMemory& memory) { return memory.tensors; }, always,
       "tensors have it: the places that grew are what to look at"},
      {"handed out by malloc, but not to torch", [](const View&, const ProcessMemory& memory) { return memory.heap; },
       heap_known, "malloc hands it out: Python objects, numpy arrays, strings or a C++ library, not tensors"},
      {"kept by malloc for later", [](const View&, const ProcessMemory& memory) { return memory.kept; }, heap_known,
       "malloc keeps what was freed: malloc_trim(0) gives it back to the system, MALLOC_ARENA_MAX=2 makes fewer arenas "
       "that keep some, another allocator (jemalloc, tcmalloc) keeps less"},
      {"other private memory (Python's arenas, thread stacks, mappings)", other_anonymous, private_known,
       "not malloc either: thread stacks, Python's own arenas or a library's pool"},
      {"mapped files and libraries",
       [](const View& view, const ProcessMemory&) { return int64_t(totals(view).file_bytes); }, kinds_known,
       "pages of mapped files: libraries that were loaded, or a data set that is read through mmap; the system takes "
       "them back when memory is short"},
      {"shared memory", [](const View& view, const ProcessMemory&) { return int64_t(totals(view).shared_bytes); },
       kinds_known, "shared memory: batches of workers, or a file in /dev/shm, that is not freed"},
      {"tensorscope itself",
       [](const View& view, const ProcessMemory&) { return int64_t(totals(view).profiler_bytes); }, always,
       "tensorscope's own tables: TENSORSCOPE_MAX_STACK_MEMORY limits them"},
      {"cached by the allocators of devices", cached_by_devices, always, "torch.cuda.empty_cache() gives it back"},
      {"private memory of the child processes",
       [](const View& view, const ProcessMemory&) { return int64_t(totals(view).children_private_bytes); },
       children_known,
       "worker processes copy the pages that they write to, and a reference count is a write: keep large data in "
       "arrays "
       "or tensors, not in lists of Python objects, or start fewer workers"},
      {"resident memory of the child processes",
       [](const View& view, const ProcessMemory&) { return int64_t(totals(view).children_resident_bytes); }, always,
       "child processes: what they share with each other is counted once for each"}};
  return kParts;
}

}  // namespace

ProcessMemory process_memory(const View& view) {
  ProcessMemory memory;
  memory.resident = int64_t(totals(view).resident_bytes);
  memory.profiler = int64_t(totals(view).profiler_bytes);
  memory.kept = int64_t(totals(view).heap_free);
  for (const DeviceSums& sums : view.accounts.devices()) {
    if (sums.device.type == 0) memory.tensors += int64_t(sums.allocator_bytes() + sums.outside_bytes());
  }
  int64_t of_torch = 0;
  for (const Allocation& allocation : view.dump.allocations) {
    const bool heap = dump::AllocationKind(allocation.kind) == dump::AllocationKind::heap;
    if (heap && allocation.device.type == 0) of_torch += int64_t(allocation.nbytes);
  }
  memory.objects = int64_t(view.dump.tensors.size() + view.dump.graph.nodes.size()) * kObject;
  memory.heap_known = totals(view).heap_in_use > 0;
  if (memory.heap_known) memory.heap = int64_t(totals(view).heap_in_use) - of_torch;
  return memory;
}

ProcessGrowth process_growth(const std::vector<View>& views) {
  ProcessGrowth growth;
  Fact resident{"resident memory of the process", {}, /*bytes=*/true};
  for (const View& view : views) resident.values.push_back(totals(view).resident_bytes);
  const bool known =
      std::all_of(resident.values.begin(), resident.values.end(), [](uint64_t value) { return value > 0; });
  if (views.size() < 2 || !known) return growth;

  std::vector<ProcessMemory> memory;
  for (const View& view : views) memory.push_back(process_memory(view));
  std::vector<std::pair<Fact, const char*>> rows;
  for (const PartOf& part : parts()) {
    if (!std::all_of(views.begin(), views.end(), part.known)) continue;
    Fact fact{part.what, {}, /*bytes=*/true};
    for (size_t i = 0; i < views.size(); ++i) {
      fact.values.push_back(uint64_t(std::max<int64_t>(0, part.bytes(views[i], memory[i]))));
    }
    const bool any = std::any_of(fact.values.begin(), fact.values.end(), [](uint64_t value) { return value != 0; });
    if (any) rows.emplace_back(std::move(fact), part.look_at);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return growth_of(a.first) > growth_of(b.first); });
  growth.told = growth_of(resident) >= kLeastTold;
  growth.parts.push_back(std::move(resident));
  for (auto& [fact, look_at] : rows) {
    const bool of_children = fact.what.ends_with("child processes");
    growth.told = growth.told || (of_children && growth_of(fact) >= kLeastTold);
    if (growth.look_at.empty() && growth_of(fact) > 0) growth.look_at = look_at;
    growth.parts.push_back(std::move(fact));
  }
  if (!std::all_of(views.begin(), views.end(), heap_known))
    growth.parts.push_back({"malloc's own numbers are not known in every dump"});
  return growth;
}

}  // namespace tensorscope::model
