// SPDX-License-Identifier: Apache-2.0
#include "oom/balance.h"

#include <algorithm>
#include <map>

#include "dump_generated.h"
#include "oom/callers.h"

namespace tensorscope::analyzer::oom {

namespace {

int64_t not_negative(int64_t bytes) { return std::max<int64_t>(0, bytes); }

// Blocks of the CUDA runtime that torch's allocator did not take, by library.
BalanceNode from_libraries(const View& view, Device device) {
  std::vector<uint32_t> sites;
  auto counts = [&](const RuntimeBlock& block) { return block.device == device && !block.by_torch; };
  for (const RuntimeBlock& block : view.dump.runtime_blocks) {
    if (counts(block)) sites.push_back(block.site);
  }
  view.places.prefetch(sites, /*whole_stacks=*/true);
  std::map<std::string, uint64_t> libraries;
  uint64_t bytes = 0;
  for (const RuntimeBlock& block : view.dump.runtime_blocks) {
    if (!counts(block)) continue;
    libraries[library_of_block(view, block.site)] += block.nbytes;
    bytes += block.nbytes;
  }
  BalanceNode result = optional_node(BalanceKind::libraries, counted(bytes), {NoteKind::by_cuda_runtime});
  for (const auto& [library, own] : libraries) {
    result.parts.push_back(balance_node(BalanceKind::library, counted(own)));
    result.parts.back().subject = library;
  }
  std::stable_sort(result.parts.begin(), result.parts.end(),
                   [](const BalanceNode& a, const BalanceNode& b) { return *a.bytes > *b.bytes; });
  return result;
}

BalanceNode cached_part(const FreeMemory& cached) {
  BalanceNode result = balance_node(BalanceKind::cached, counted(cached.bytes));
  for (const FreePart& free : cached.parts) {
    BalanceNode entry = balance_node(BalanceKind::pool, counted(free.bytes));
    entry.pool = free;
    entry.with_stream = cached.streams_known && (free.stream != 0 || cached.streams > 1);
    if (free.pieces > 0) entry.note = {NoteKind::pieces, free.pieces, 0, free.largest};
    result.parts.push_back(std::move(entry));
  }
  return result;
}

// What torch's allocator holds of the device.
BalanceNode reserved(const View& view, Device device, const FreeMemory& cached) {
  const DeviceTotal* total = view.dump.total_of(device);
  const bool failed_here = view.dump.failure && view.dump.failure->device == device;
  BalanceNode given = allocated(view, device);
  const int64_t used = *given.bytes;
  const DeviceMemory* memory = view.dump.memory_of(device);
  const bool tells = memory == nullptr || memory->backend != "cudaMallocAsync";  // the driver keeps its pool for it
  if (cached.known && tells) {
    BalanceNode result = balance_node(BalanceKind::reserved, counted(cached.reserved));
    result.parts = {std::move(given),
                    optional_node(BalanceKind::waiting, counted(cached.pending), {NoteKind::stream_may_use}),
                    cached_part(cached)};
    add_remainder(result, NoteKind::made_while_copying);
    return result;
  }
  uint64_t bytes = !tells ? 0 : failed_here ? view.dump.failure->allocator_reserved : 0;
  if (bytes == 0 && tells && total != nullptr) bytes = total->allocator_reserved;
  if (bytes == 0) {  // an allocator that does not tell, such as cudaMallocAsync's
    BalanceNode result = balance_node(BalanceKind::reserved, used);
    BalanceNode free;
    free.kind = BalanceKind::cached;
    free.note = {NoteKind::cache_not_told};
    result.parts = {std::move(given), std::move(free)};
    return result;
  }
  BalanceNode result = balance_node(BalanceKind::reserved, counted(bytes));
  result.parts = {std::move(given),
                  balance_node(BalanceKind::cached, not_negative(counted(bytes) - used), {NoteKind::pieces_not_known})};
  add_remainder(result, NoteKind::other_moment);
  return result;
}

// What the driver reports about a device's processes.
struct DriverView {
  int64_t total = 0, free = 0;
  int64_t own = 0;  // of this process; 0: not known
  bool own_told = false;
  int64_t others = 0;
  bool others_known = true;
};

DriverView driver_view(const DeviceMemory& memory) {
  DriverView driver;
  driver.total = counted(memory.driver_total);
  driver.free = counted(memory.driver_free);
  for (const DeviceProcess& process : memory.processes) {
    driver.others_known = driver.others_known && process.bytes.has_value();
    driver.others += counted(process.bytes.value_or(0));
  }
  driver.own = counted(memory.own_bytes);
  driver.own_told = driver.own != 0;
  if (!driver.own_told && driver.others_known && !memory.processes.empty()) {
    driver.own = driver.total - driver.free - driver.others;
  }
  return driver;
}

BalanceNode without_driver(Device device, const DeviceMemory* memory, BalanceNode torch, BalanceNode libraries) {
  BalanceNode result;
  result.kind = BalanceKind::device;
  result.subject = device.text();
  if (memory == nullptr) {
    result.note = {NoteKind::driver_not_in_dump};
  } else if (memory->driver_detail.empty()) {
    result.note = {NoteKind::total_not_told};
  } else {
    result.note = {NoteKind::text, 0, 0, 0, memory->driver_detail};
  }
  result.parts = {std::move(torch), std::move(libraries)};
  return result;
}

BalanceNode this_process(const DeviceMemory& memory, const DriverView& driver, BalanceNode torch,
                         BalanceNode libraries) {
  const int64_t used = *torch.bytes + *libraries.bytes;
  const bool pool = memory.backend == "cudaMallocAsync";
  BalanceNode result = balance_node(BalanceKind::this_process, not_negative(driver.own),
                                    {driver.own_told ? NoteKind::none : NoteKind::by_remainder});
  result.parts = {
      std::move(torch), std::move(libraries),
      balance_node(pool ? BalanceKind::context_and_pool : BalanceKind::context, not_negative(driver.own - used))};
  add_remainder(result, NoteKind::less_than_recorded);
  return result;
}

BalanceNode other_processes(const DeviceMemory& memory, const DriverView& driver) {
  const int64_t bytes = driver.others_known ? driver.others : not_negative(driver.total - driver.free - driver.own);
  BalanceNode result = optional_node(BalanceKind::other_processes, bytes,
                                     {driver.others_known ? NoteKind::pids : NoteKind::pids_without_bytes});
  for (const DeviceProcess& other : memory.processes) result.note.numbers.push_back(other.pid);
  if (!driver.others_known || memory.processes.size() == 1) return result;
  for (const DeviceProcess& other : memory.processes) {
    result.parts.push_back(balance_node(BalanceKind::process, counted(*other.bytes)));
    result.parts.back().pid = other.pid;
  }
  return result;
}

}  // namespace

uint64_t in_use(const BalanceNode& balance) {
  for (BalanceKind kind : {BalanceKind::allocated, BalanceKind::torch}) {
    const BalanceNode* part = balance.kind == kind ? &balance : balance.find(kind);
    if (part != nullptr && part->bytes) return uint64_t(not_negative(*part->bytes));
  }
  return 0;
}

uint64_t resident(const BalanceNode& balance) {
  constexpr BalanceKind kWhole = BalanceKind::resident_process;
  const BalanceNode* whole = balance.kind == kWhole ? &balance : balance.find(kWhole);
  return whole != nullptr && whole->bytes ? uint64_t(not_negative(*whole->bytes)) : 0;
}

const BalanceNode* mostly_outside(const BalanceNode& balance) {
  const auto most = int64_t(resident(balance) / 2);
  for (BalanceKind kind : {BalanceKind::malloc_in_use, BalanceKind::python_heap}) {
    const BalanceNode* part = balance.find(kind);
    if (most > 0 && part != nullptr && part->bytes && *part->bytes > most) return part;
  }
  return nullptr;
}

BalanceNode device_balance(const View& view, Device device, const FreeMemory& cached) {
  BalanceNode torch = reserved(view, device, cached), libraries = from_libraries(view, device);
  const DeviceMemory* memory = view.dump.memory_of(device);
  if (memory == nullptr || memory->driver_total == 0) {
    return without_driver(device, memory, std::move(torch), std::move(libraries));
  }
  const DriverView driver = driver_view(*memory);
  BalanceNode result = balance_node(BalanceKind::device, driver.total, {NoteKind::text, 0, 0, 0, memory->name});
  result.subject = device.text();
  result.parts.push_back(balance_node(BalanceKind::free, driver.free, {NoteKind::by_driver}));
  if (driver.own == 0) {
    const int64_t used = *torch.bytes + *libraries.bytes;
    PartNote note = {NoteKind::processes_not_told};
    if (!memory->driver_detail.empty()) note = {NoteKind::text, 0, 0, 0, memory->driver_detail};
    result.parts.push_back(std::move(torch));
    result.parts.push_back(std::move(libraries));
    result.parts.push_back(
        balance_node(BalanceKind::outside_torch, not_negative(driver.total - driver.free - used), std::move(note)));
    add_remainder(result, NoteKind::less_than_torch);
    return result;
  }
  result.parts.push_back(this_process(*memory, driver, std::move(torch), std::move(libraries)));
  if (!memory->processes.empty()) result.parts.push_back(other_processes(*memory, driver));
  add_remainder(result, NoteKind::drivers_own);
  return result;
}

}  // namespace tensorscope::analyzer::oom
