// SPDX-License-Identifier: Apache-2.0
#include "leaks/process_growth.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

constexpr int64_t kMinTold = 32 << 20;
constexpr int64_t kMinFile = 1 << 20;

// What the objects of a tensor (TensorImpl, StorageImpl, Python object) and a node take, generously: growth of their
// number is another finding's.
constexpr int64_t kObject = 1 << 10;

// In resident memory: what was asked for before is touched.
int64_t growth_of(const Fact& fact) {
  const auto growth = int64_t(fact.values.back() - fact.values.front());
  return fact.kind == FactKind::untouched ? -growth : growth;
}

struct PartOf {
  FactKind kind;
  int64_t (*bytes)(const View&, const ProcessMemory&);
  bool (*known)(const View&);
  uint64_t (Mapping::*of_name)() const = nullptr;  // where files have a share: theirs
};

const Totals& totals(const View& view) { return view.dump.totals; }

int64_t cached_by_devices(const View& view, const ProcessMemory&) {
  int64_t sum = 0;
  for (const DeviceTotal& device : totals(view).devices) {
    sum += int64_t(device.allocator_reserved) - int64_t(device.allocator_allocated);
  }
  return sum;
}

bool always(const View&) { return true; }
bool heap_known(const View& view) { return totals(view).heap_in_use > 0; }
bool kinds_known(const View& view) { return totals(view).anonymous_bytes > 0; }
bool private_known(const View& view) { return heap_known(view) && kinds_known(view); }
bool python_known(const View& view) { return view.dump.process_parts.python_arenas > 0; }
bool has_python(const View& view) { return !view.dump.process.python_version.empty(); }
bool mappings_known(const View& view) { return !view.dump.process_parts.mappings.empty(); }
bool children_known(const View& view) { return totals(view).children_known; }
bool children_private_known(const View& view) {
  return children_known(view) && (totals(view).children == 0 || totals(view).children_private_bytes > 0);
}

const std::vector<PartOf>& parts() {
  static const std::vector<PartOf> kParts = {
      {FactKind::cpu_tensors, [](const View&, const ProcessMemory& memory) { return memory.tensors; }, always},
      {FactKind::malloc_in_use, [](const View&, const ProcessMemory& memory) { return memory.heap; }, heap_known},
      {FactKind::malloc_free, [](const View&, const ProcessMemory& memory) { return memory.kept; }, heap_known},
      {FactKind::python_in_use, [](const View&, const ProcessMemory& memory) { return memory.python; }, python_known},
      {FactKind::python_free, [](const View&, const ProcessMemory& memory) { return memory.python_kept; },
       python_known},
      {FactKind::other_private, [](const View&, const ProcessMemory& memory) { return memory.other_private(); },
       private_known},
      {FactKind::untouched, [](const View&, const ProcessMemory& memory) { return memory.untouched(); }, private_known},
      {FactKind::mapped_files, [](const View& view, const ProcessMemory&) { return int64_t(totals(view).file_bytes); },
       kinds_known, &Mapping::of_file},
      {FactKind::copied_pages, [](const View&, const ProcessMemory& memory) { return memory.copied; }, mappings_known,
       &Mapping::copied},
      {FactKind::shared_memory, [](const View&, const ProcessMemory& memory) { return memory.shared; }, kinds_known},
      {FactKind::profiler, [](const View& view, const ProcessMemory&) { return int64_t(totals(view).profiler_bytes); },
       always},
      {FactKind::device_caches, cached_by_devices, always},
      {FactKind::children_private,
       [](const View& view, const ProcessMemory&) { return int64_t(totals(view).children_private_bytes); },
       children_private_known},
      {FactKind::children_resident,
       [](const View& view, const ProcessMemory&) { return int64_t(totals(view).children_resident_bytes); },
       children_known}};
  return kParts;
}

struct Row {
  Fact fact;
  const PartOf* part;
};

// The files of a part that grew, and what is left of it: their sum is the part's.
void add_files(const Row& row, const std::vector<View>& views, std::vector<Fact>& out) {
  constexpr size_t kMax = 3;
  if (row.part->of_name == nullptr || !std::all_of(views.begin(), views.end(), mappings_known)) return;
  std::map<std::string, std::vector<uint64_t>> by_name;
  for (size_t i = 0; i < views.size(); ++i) {
    for (const Mapping& mapping : views[i].dump.process_parts.mappings) {
      if (!mapping.is_file || mapping.name.empty()) continue;
      std::vector<uint64_t>& values = by_name[mapping.name];
      values.resize(views.size());
      values[i] += (mapping.*row.part->of_name)();
    }
  }
  std::vector<Fact> files;
  for (auto& [name, values] : by_name) files.push_back({FactKind::file, std::move(values), name});
  std::stable_sort(files.begin(), files.end(),
                   [](const Fact& a, const Fact& b) { return growth_of(a) > growth_of(b); });
  while (!files.empty() && (files.size() > kMax || growth_of(files.back()) < kMinFile)) files.pop_back();
  if (files.empty()) return;
  Fact rest{FactKind::other_files, row.fact.values};
  for (const Fact& file : files) {
    for (size_t i = 0; i < views.size(); ++i) rest.values[i] -= std::min(rest.values[i], file.values[i]);
  }
  out.insert(out.end(), std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
  out.push_back(std::move(rest));
}

}  // namespace

namespace {

// Of the host, live.
int64_t allocated_as(format::AllocationKind kind, const Dump& dump) {
  int64_t sum = 0;
  for (const Allocation& allocation : dump.allocations) {
    if (format::AllocationKind(allocation.kind) == kind && allocation.device.is_cpu())
      sum += int64_t(allocation.nbytes);
  }
  return sum;
}

}  // namespace

int64_t heap_of_torch(const Dump& dump) { return allocated_as(format::AllocationKind::heap, dump); }

int64_t ProcessMemory::rest() const {
  if (!heap_known || !anonymous_known) return 0;
  return anonymous - (tensors - borrowed - shared_tensors) - heap - kept - profiler - python - python_kept - copied;
}

ProcessMemory process_memory(const View& view) {
  ProcessMemory memory;
  memory.resident = int64_t(totals(view).resident_bytes);
  memory.profiler = int64_t(totals(view).profiler_bytes);
  memory.kept = int64_t(totals(view).heap_free);
  for (const DeviceSums& sums : view.accounts.devices()) {
    if (!sums.device.is_cpu()) continue;
    memory.tensors += int64_t(sums.allocator_bytes() + sums.outside_bytes());
    memory.borrowed += int64_t(sums.outside_bytes());
  }
  memory.shared_tensors = allocated_as(format::AllocationKind::mapped, view.dump);
  memory.shared = std::max<int64_t>(0, int64_t(totals(view).shared_bytes) - memory.shared_tensors);
  memory.anonymous = int64_t(totals(view).anonymous_bytes);
  memory.anonymous_known = kinds_known(view);
  memory.objects = int64_t(view.dump.tensors.size() + view.dump.graph.nodes.size()) * kObject;
  const ProcessParts& own = view.dump.process_parts;
  memory.python_known = python_known(view);
  memory.python = int64_t(own.python_in_use);
  memory.python_kept = int64_t(own.python_arenas - own.python_in_use);
  memory.mappings_known = mappings_known(view);
  for (const Mapping& mapping : own.mappings) memory.copied += int64_t(mapping.copied());
  memory.heap_known = heap_known(view);
  if (memory.heap_known) memory.heap = int64_t(totals(view).heap_in_use) - heap_of_torch(view.dump);
  return memory;
}

std::vector<ProcessMemory> comparable_memory(const std::vector<View>& views) {
  std::vector<ProcessMemory> memory;
  for (const View& view : views) memory.push_back(process_memory(view));
  const bool python = std::all_of(views.begin(), views.end(), python_known);
  const bool mappings = std::all_of(views.begin(), views.end(), mappings_known);
  for (ProcessMemory& one : memory) {
    if (!python) one.python = one.python_kept = 0;
    if (!mappings) one.copied = 0;
  }
  // Objects that go away are no growth of what is left.
  for (size_t i = 1; i < memory.size(); ++i) memory[i].objects = std::max(memory[i].objects, memory[i - 1].objects);
  return memory;
}

namespace {

bool grows_steadily(const std::vector<ProcessMemory>& memory) {
  const int64_t varies = memory.size() > 2 ? 64 << 10 : 256 << 10;
  for (size_t i = 1; i < memory.size(); ++i) {
    if (!memory[i].heap_known || memory[i].requested() - memory[i - 1].requested() < varies) return false;
  }
  return memory.size() > 1;
}

}  // namespace

ProcessGrowth process_growth(const std::vector<View>& views) {
  ProcessGrowth growth;
  Fact resident{FactKind::resident};
  for (const View& view : views) resident.values.push_back(totals(view).resident_bytes);
  const bool known =
      std::all_of(resident.values.begin(), resident.values.end(), [](uint64_t value) { return value > 0; });
  if (views.empty() || !known) return growth;

  const std::vector<ProcessMemory> memory = comparable_memory(views);
  std::vector<Row> rows;
  for (const PartOf& part : parts()) {
    if (!std::all_of(views.begin(), views.end(), part.known)) continue;
    Fact fact{part.kind};
    for (size_t i = 0; i < views.size(); ++i) {
      fact.values.push_back(uint64_t(std::max<int64_t>(0, part.bytes(views[i], memory[i]))));
    }
    const bool any = std::any_of(fact.values.begin(), fact.values.end(), [](uint64_t value) { return value != 0; });
    if (any) rows.push_back({std::move(fact), &part});
  }
  const bool one = views.size() == 1;
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return one ? a.fact.values.back() > b.fact.values.back() : growth_of(a.fact) > growth_of(b.fact);
  });
  growth.told = growth_of(resident) >= kMinTold;
  growth.steady = grows_steadily(memory);
  growth.parts.push_back(std::move(resident));
  for (const Row& row : rows) {
    const bool of_children =
        row.fact.kind == FactKind::children_private || row.fact.kind == FactKind::children_resident;
    growth.told = growth.told || (of_children && growth_of(row.fact) >= kMinTold);
    if (!growth.grew_most && growth_of(row.fact) > 0) growth.grew_most = row.fact.kind;
    growth.parts.push_back(row.fact);
    add_files(row, views, growth.parts);
  }
  if (!std::all_of(views.begin(), views.end(), heap_known)) growth.parts.push_back({FactKind::malloc_unknown});
  if (!std::all_of(views.begin(), views.end(), python_known) && !std::none_of(views.begin(), views.end(), has_python))
    growth.parts.push_back({FactKind::python_unknown});
  if (!std::all_of(views.begin(), views.end(), children_private_known))
    growth.parts.push_back({FactKind::children_unknown});
  return growth;
}

}  // namespace tensorscope::analyzer
