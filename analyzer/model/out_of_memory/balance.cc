#include "model/out_of_memory/balance.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dump_generated.h"
#include "model/out_of_memory/callers.h"
#include "model/out_of_memory/checkpointing.h"
#include "tensorscope/rules/number_text.h"

namespace tensorscope::model::oom {

namespace {

constexpr size_t kNamedCallers = 3;

Part part(std::string name, uint64_t bytes, std::string note = "") {
  Part result;
  result.name = std::move(name);
  result.bytes = counted(bytes);
  result.note = std::move(note);
  return result;
}

// The same where 0 is not worth a line.
Part spare(std::string name, uint64_t bytes, std::string note = "") {
  Part result = part(std::move(name), bytes, std::move(note));
  result.optional = true;
  return result;
}

Part unknown(std::string name, std::string note) {
  Part result;
  result.name = std::move(name);
  result.note = std::move(note);
  return result;
}

const DeviceSums* sums_of(const View& view, Device device) {
  for (const DeviceSums& sums : view.accounts.devices()) {
    if (sums.device == device) return &sums;
  }
  return nullptr;
}

const DeviceTotal* total_of(const Dump& dump, Device device) {
  for (const DeviceTotal& total : dump.totals.devices) {
    if (total.device == device) return &total;
  }
  return nullptr;
}

std::vector<Part> largest_first(const std::map<std::string, uint64_t>& sums, const char* name) {
  std::vector<Part> parts;
  for (const auto& [label, bytes] : sums) {
    parts.push_back(part(name, bytes));
    parts.back().label = label;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return *a.bytes > *b.bytes; });
  return parts;
}

// By category; each category by module.
Part tensors(const View& view, Device device, uint64_t bytes) {
  struct Share {
    uint64_t bytes = 0, storages = 0;
    std::map<std::string, uint64_t> modules;
  };
  std::map<Category, Share> shares;
  for (const Item& item : view.accounts.items()) {
    if (item.device != device || item.allocation == kNone || item.storage == kNone) continue;
    const uint32_t speaker = view.holders.speaker(item.storage);
    Share& share = shares[view.holders.category(speaker)];
    const uint64_t own = item.bytes - item.rounding - item.outside;
    share.bytes += own;
    share.storages += 1;
    share.modules[starred(view.holders.module(speaker))] += own;
  }
  Part result = part("tensors", bytes);
  for (auto& [category, share] : shares) {
    Part entry = part(text(category), share.bytes, fmt::format("{} storages", share.storages));
    if (share.modules.size() > 1 || !share.modules.begin()->first.empty()) {
      entry.parts = largest_first(share.modules, "module");
    }
    result.parts.push_back(std::move(entry));
  }
  std::stable_sort(result.parts.begin(), result.parts.end(),
                   [](const Part& a, const Part& b) { return *a.bytes > *b.bytes; });
  close(result, "storages that overlap");
  return result;
}

Part blocks(const View& view, Device device, uint64_t bytes) {
  std::vector<uint32_t> sites;
  for (const Item& item : view.accounts.items()) {
    if (item.device == device && item.storage == kNone && item.allocation != kNone) sites.push_back(item.site);
  }
  view.places.prefetch(sites, /*whole_stacks=*/true);
  std::map<std::string, uint64_t> callers;
  for (const Item& item : view.accounts.items()) {
    if (item.device != device || item.storage != kNone || item.allocation == kNone) continue;
    callers[caller_of_block(view, item.site)] += item.bytes;
  }
  Part result = spare("in no tensor", bytes,
                      fmt::format("{} block{} that no tensor refers to", sites.size(), sites.size() == 1 ? "" : "s"));
  const auto freed = std::count_if(view.dump.tensors.begin(), view.dump.tensors.end(), [](const Tensor& tensor) {
    return (tensor.flags & uint32_t(dump::TensorFlag::freed_during_dump)) != 0;
  });
  if (freed != 0 && !sites.empty()) {
    result.note +=
        fmt::format("; {} tensors were freed while the dump was written, some of these blocks were theirs", freed);
  }
  result.parts = largest_first(callers, "caller");
  if (result.parts.size() > kNamedCallers) {
    uint64_t rest = 0;
    for (size_t i = kNamedCallers; i < result.parts.size(); ++i) rest += uint64_t(*result.parts[i].bytes);
    const size_t more = result.parts.size() - kNamedCallers;
    result.parts.resize(kNamedCallers);
    result.parts.push_back(part("others", rest, fmt::format("{} more places", more)));
  }
  return result;
}

// Blocks of the CUDA runtime that torch's allocator did not take, by library.
Part from_libraries(const View& view, Device device) {
  std::map<std::string, uint64_t> libraries;
  std::vector<uint32_t> sites;
  auto counts = [&](const RuntimeBlock& block) { return block.device == device && !block.by_torch; };
  for (const RuntimeBlock& block : view.dump.runtime_blocks) {
    if (counts(block)) sites.push_back(block.site);
  }
  view.places.prefetch(sites, /*whole_stacks=*/true);
  uint64_t bytes = 0;
  for (const RuntimeBlock& block : view.dump.runtime_blocks) {
    if (!counts(block)) continue;
    libraries[library_of_block(view, block.site)] += block.nbytes;
    bytes += block.nbytes;
  }
  Part result = spare("libraries", bytes, "others' calls of the CUDA runtime");
  result.parts = largest_first(libraries, "library");
  return result;
}

std::string pool_name(const FreePart& free, const FreeMemory& cached) {
  std::string text = free.private_pool() ? fmt::format("private pool ({}, {})", free.pool_user, free.pool)
                     : free.small        ? "small pool"
                                         : "large pool";
  if (free.private_pool() && free.small) text += ", small";
  if (cached.streams_known && (free.stream != 0 || cached.streams > 1))
    text += fmt::format(", stream {:#x}", free.stream);
  return text;
}

Part cached_part(const FreeMemory& cached) {
  Part result = part("cached", cached.bytes);
  result.label = "cached and free";
  for (const FreePart& free : cached.parts) {
    Part entry = part("pool", free.bytes);
    entry.label = pool_name(free, cached);
    if (free.pieces == 1) {
      entry.note = "in one piece";
    } else if (free.pieces > 1) {
      entry.note =
          fmt::format("in {} pieces, the largest {}", CountText(free.pieces).view(), ByteText(free.largest).view());
    }
    result.parts.push_back(std::move(entry));
  }
  return result;
}

// What torch's allocator holds of the device.
Part reserved(const View& view, Device device, const FreeMemory& cached) {
  const DeviceTotal* total = total_of(view.dump, device);
  const bool failed_here = view.dump.failure && view.dump.failure->device == device;
  Part given = allocated(view, device);
  Part result;
  result.name = "reserved";
  result.label = "torch, reserved";
  const DeviceMemory* memory = view.dump.memory_of(device);
  const bool tells = memory == nullptr || memory->backend != "cudaMallocAsync";  // the driver keeps its pool for it
  if (cached.known && tells) {
    result.bytes = counted(cached.reserved);
    result.parts = {std::move(given), spare("waiting", cached.pending, "freed, but a stream may use it still"),
                    cached_part(cached)};
    close(result, "blocks were allocated or freed between copying the tables and looking at the segments");
    return result;
  }
  uint64_t bytes = !tells ? 0 : failed_here ? view.dump.failure->allocator_reserved : 0;
  if (bytes == 0 && tells && total != nullptr) bytes = total->allocator_reserved;
  const uint64_t used = uint64_t(*given.bytes);
  if (bytes == 0) {  // an allocator that does not tell, such as cudaMallocAsync's
    result.bytes = given.bytes;
    result.parts = {std::move(given), unknown("cached", "this allocator does not tell what it keeps")};
    result.parts.back().label = "cached and free";
    return result;
  }
  result.bytes = counted(bytes);
  result.parts = {std::move(given)};
  Part free = part("cached", bytes > used ? bytes - used : 0, "in which pieces is not known");
  free.label = "cached and free";
  result.parts.push_back(std::move(free));
  close(result, "the allocator reported its total at another moment");
  return result;
}

}  // namespace

const Part* Part::find(const std::string& wanted) const {
  for (const Part& below : parts) {
    if (below.name == wanted) return &below;
    if (const Part* found = below.find(wanted)) return found;
  }
  return nullptr;
}

uint64_t in_use(const Part& balance) {
  for (const char* name : {"allocated", "torch"}) {
    const Part* part = balance.name == name ? &balance : balance.find(name);
    if (part != nullptr && part->bytes) return uint64_t(std::max<int64_t>(0, *part->bytes));
  }
  return 0;
}

void close(Part& part, const char* why) {
  if (!part.bytes) return;
  int64_t rest = *part.bytes;
  for (const Part& below : part.parts) {
    if (!below.bytes) return;
    rest -= *below.bytes;
  }
  if (rest == 0) return;
  Part& gap = part.parts.emplace_back();
  gap.name = "unexplained";
  gap.bytes = rest;
  gap.note = why;
}

Part allocated(const View& view, Device device) {
  static const DeviceSums kNothing;
  const DeviceSums* found = sums_of(view, device);
  const DeviceSums& sums = found != nullptr ? *found : kNothing;
  const DeviceTotal* total = total_of(view.dump, device);
  uint64_t bytes = sums.allocator_bytes();
  if (total != nullptr) bytes = total->allocator_allocated != 0 ? total->allocator_allocated : total->live_bytes;
  Part result = part("allocated", bytes);
  result.parts = {tensors(view, device, sums.in_tensors.bytes + sums.mapped.bytes),
                  blocks(view, device, sums.no_tensor.bytes),
                  spare("rounding", sums.rounding.bytes, "ends of blocks that their tensors do not use")};
  close(result, "the allocator counts blocks that were made before tensorscope saw it, or events were lost");
  return result;
}

Part device_balance(const View& view, Device device, const FreeMemory& cached) {
  Part torch = reserved(view, device, cached), libraries = from_libraries(view, device);
  const DeviceMemory* memory = view.dump.memory_of(device);
  if (memory == nullptr || memory->driver_total == 0) {
    Part result;
    result.name = "device";
    result.label = device.text();
    result.note = memory == nullptr               ? "what the driver says is not in this dump"
                  : memory->driver_detail.empty() ? "the driver did not tell how much there is"
                                                  : memory->driver_detail;
    result.parts = {std::move(torch), std::move(libraries)};
    return result;
  }

  const int64_t total = counted(memory->driver_total), free = counted(memory->driver_free);
  int64_t others = 0;
  bool others_known = true;
  std::string pids;
  for (size_t i = 0; i < memory->processes.size(); ++i) {
    const DeviceProcess& process = memory->processes[i];
    others_known = others_known && process.bytes.has_value();
    others += counted(process.bytes.value_or(0));
    constexpr size_t kMost = 4;
    if (i < kMost) pids += fmt::format("{}pid {}", i == 0 ? "" : ", ", process.pid);
    if (i == kMost) pids += ", ...";
  }
  int64_t own = counted(memory->own_bytes);
  const bool own_told = own != 0;
  const int64_t used = *torch.bytes + *libraries.bytes;
  if (!own_told && others_known && !memory->processes.empty()) own = total - free - others;

  Part result = part("device", memory->driver_total, memory->name);
  result.label = device.text();
  result.parts.push_back(part("free", memory->driver_free, "as the driver tells"));
  if (own == 0) {
    // The driver does not tell processes apart.
    Part rest =
        part("outside torch", uint64_t(std::max<int64_t>(0, total - free - used)),
             memory->driver_detail.empty() ? "the driver does not tell the processes apart" : memory->driver_detail);
    rest.label = "context of this process, other processes";
    result.parts.push_back(std::move(torch));
    result.parts.push_back(std::move(libraries));
    result.parts.push_back(std::move(rest));
    close(result, "the driver counts less than torch's allocator has");
    return result;
  }
  Part process = part("this process", uint64_t(std::max<int64_t>(0, own)),
                      own_told ? "" : "the device's total less what is free and what others have");
  const bool pool = memory->backend == "cudaMallocAsync";
  Part rest = part("context", uint64_t(std::max<int64_t>(0, own - used)));
  rest.label = pool ? "context, cudaMallocAsync's pool, the rest" : "context and the rest";
  process.parts.push_back(std::move(torch));
  process.parts.push_back(std::move(libraries));
  process.parts.push_back(std::move(rest));
  close(process, "the driver counts less for this process than was recorded");
  result.parts.push_back(std::move(process));
  if (!memory->processes.empty()) {
    Part entry = spare("other processes", uint64_t(others_known ? others : std::max<int64_t>(0, total - free - own)),
                       others_known ? pids : pids + "; the driver does not tell how much each has");
    for (const DeviceProcess& other : memory->processes) {
      if (!others_known) break;
      entry.parts.push_back(part("process", *other.bytes));
      entry.parts.back().label = fmt::format("pid {}", other.pid);
    }
    if (entry.parts.size() == 1) entry.parts.clear();
    result.parts.push_back(std::move(entry));
  }
  close(result, "the driver's own, or processes not listed");
  return result;
}

}  // namespace tensorscope::model::oom
