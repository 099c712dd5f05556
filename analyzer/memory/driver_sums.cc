// SPDX-License-Identifier: Apache-2.0
#include "memory/driver_sums.h"

#include <algorithm>
#include <unordered_map>

#include "dump_generated.h"

namespace tensorscope::analyzer {

std::vector<DriverShare> driver_shares(const Dump& dump) {
  std::unordered_map<uint64_t, DriverShare> known;
  for (const RuntimeBlock& block : dump.runtime_blocks) {
    known.emplace(block.pointer, block.by_torch ? DriverShare::torch : DriverShare::runtime);
  }
  // An expandable segment is made of many pieces of physical memory.
  std::vector<std::pair<uint64_t, uint64_t>> segments;
  for (const DeviceMemory& device : dump.device_memory) {
    for (const Segment& segment : device.segments)
      segments.push_back({segment.address, segment.address + segment.size});
  }
  std::sort(segments.begin(), segments.end());
  auto in_segment = [&](uint64_t pointer) {
    auto next = std::upper_bound(segments.begin(), segments.end(), std::pair(pointer, UINT64_MAX));
    return next != segments.begin() && pointer < std::prev(next)->second;
  };
  // A block of the driver that contains blocks of the allocator is torch's; one that is all cached is in the two lists
  // above.
  std::vector<const Allocation*> inside;
  for (const Allocation& allocation : dump.allocations) {
    if (!allocation.device.is_cpu()) inside.push_back(&allocation);
  }
  std::sort(inside.begin(), inside.end(),
            [](const Allocation* a, const Allocation* b) { return a->pointer < b->pointer; });
  auto holds_one = [&](const DriverBlock& block) {
    const auto behind = std::upper_bound(inside.begin(), inside.end(), block.pointer + block.nbytes - 1,
                                         [](uint64_t end, const Allocation* a) { return end < a->pointer; });
    if (block.nbytes == 0 || behind == inside.begin()) return false;
    const Allocation& last = **std::prev(behind);
    return last.pointer + last.nbytes > block.pointer && last.device == block.device;
  };
  std::vector<DriverShare> shares;
  for (const DriverBlock& block : dump.driver_memory.blocks) {
    const auto found = known.find(block.pointer);
    const bool torch = in_segment(block.pointer) || holds_one(block);
    shares.push_back(found != known.end() ? found->second : torch ? DriverShare::torch : DriverShare::other);
  }
  return shares;
}

std::vector<DriverSums> driver_sums(const Dump& dump, const std::vector<DriverShare>& shares) {
  std::map<Device, DriverSums> devices;
  const std::vector<DriverBlock>& blocks = dump.driver_memory.blocks;
  for (size_t i = 0; i < blocks.size(); i++) {
    DriverSums& sums = devices[blocks[i].device];
    sums.device = blocks[i].device;
    for (DriverPart* part : {&sums.all, &sums.shares[shares[i]], &sums.kinds[blocks[i].kind]}) {
      part->blocks += 1;
      part->bytes += blocks[i].nbytes;
    }
  }
  std::vector<DriverSums> out;
  for (auto& [device, sums] : devices) out.push_back(std::move(sums));
  return out;
}

const char* driver_kind_text(uint8_t kind) {
  switch (format::DriverMemoryKind(kind)) {
    case format::DriverMemoryKind::pageable:
      return "pageable";
    case format::DriverMemoryKind::pinned:
      return "pinned";
    case format::DriverMemoryKind::device:
      return "device";
    case format::DriverMemoryKind::array:
      return "arrays";
    case format::DriverMemoryKind::managed:
      return "managed";
    case format::DriverMemoryKind::device_static:
      return "variables of device code";
    case format::DriverMemoryKind::managed_static:
      return "managed variables of device code";
    case format::DriverMemoryKind::physical:
      return "virtual memory";
    default:
      return "unknown";
  }
}

SiteLaunches launch_totals(const Dump& dump) {
  SiteLaunches all;
  for (const SiteLaunches& row : dump.launches) all.add(row);
  return all;
}

}  // namespace tensorscope::analyzer
