// SPDX-License-Identifier: Apache-2.0
#include "dump/cupti_chunks.h"

#include <algorithm>
#include <span>
#include <vector>

#include "dump/chunk.h"

namespace tensorscope::dump {

namespace {

constexpr size_t kCuptiRows = format::kMaxRowsPerChunk;

bool write_memory(const cupti::Activity& activity, std::span<const cupti::MemoryEvent> part, DumpFile& file) {
  std::vector<format::DriverBlock> rows;
  rows.reserve(part.size());
  for (const cupti::MemoryEvent& event : part) {
    const auto created_ns = uint64_t(int64_t(event.at_ns) - activity.clock_offset_ns);
    rows.emplace_back(event.address, event.nbytes, created_ns, event.process, event.context, event.stream, event.site,
                      format::DriverMemoryKind(event.kind), event.asynchronous, event.device);
  }
  Chunk chunk(format::kDriverMemory, rows.size() * sizeof(format::DriverBlock) + 256);
  auto values = chunk.builder().CreateVectorOfStructs(rows);
  format::DriverMemoryBuilder memory(chunk.builder());
  memory.add_values(values);
  memory.add_began_ns(activity.began_ns);
  memory.add_ended_ns(activity.ended_ns);
  memory.add_allocations(activity.totals.allocations);
  memory.add_releases(activity.totals.releases);
  memory.add_unknown_releases(activity.totals.unknown_releases);
  memory.add_lost(activity.totals.lost);
  memory.add_version(activity.version);
  memory.add_flushed(activity.flushed);
  return chunk.append_to(file, memory.Finish());
}

bool write_launches(std::span<const cupti::LaunchCounts> part, DumpFile& file) {
  std::vector<format::SiteLaunches> rows;
  rows.reserve(part.size());
  for (const cupti::LaunchCounts& c : part) {
    rows.emplace_back(c.kernels, c.kernel_ns, c.copies, c.copied_bytes, c.copy_ns, c.to_device_bytes, c.to_host_bytes,
                      c.fills, c.filled_bytes, c.fill_ns, c.site);
  }
  Chunk chunk(format::kLaunches, rows.size() * sizeof(format::SiteLaunches) + 256);
  auto values = chunk.builder().CreateVectorOfStructs(rows);
  return chunk.append_to(file, format::CreateLaunches(chunk.builder(), values));
}

// At least one part, an empty one of no rows.
template <typename Row, typename Write>
bool in_parts(const std::vector<Row>& all, Write write) {
  size_t at = 0;
  do {
    const size_t count = std::min(kCuptiRows, all.size() - at);
    if (!write(std::span(all).subspan(at, count))) return false;
    at += count;
  } while (at < all.size());
  return true;
}

}  // namespace

bool write_cupti(const cupti::Activity& activity, DumpFile& file) {
  if (!activity.recorded) return true;
  return in_parts(activity.memory, [&](auto part) { return write_memory(activity, part, file); }) &&
         (!activity.with_launches ||
          in_parts(activity.launches, [&](auto part) { return write_launches(part, file); }));
}

}  // namespace tensorscope::dump
