// A dump's devices: totals, segments and blocks of torch's allocator, the CUDA runtime, CUPTI; and the process's
// mappings.
#include <algorithm>

#include "dump_generated.h"
#include "tables/cells.h"

namespace tensorscope::tables {

namespace {

using analyzer::DeviceMemory;
using analyzer::DeviceTotal;
using enum Type;

const DeviceTotal& total_at(In in, At at) { return in.dump().totals.devices[at.index]; }
const DeviceMemory* memory_of(In in, At at) { return in.dump().memory_of(total_at(in, at).device); }

constexpr Column kDevices[] = {
    kDumpColumn,
    {"device", word, "cpu, cuda:0, ...", [](In in, At at, Out out) { out.text(total_at(in, at).device.text()); }},
    {"name", text, "\"NVIDIA H200\"",
     [](In in, At at, Out out) {
       if (memory_of(in, at) != nullptr) text_or_null(out, memory_of(in, at)->name);
     }},
    {"live_bytes", whole, "in live allocations", [](In in, At at, Out out) { out.whole(total_at(in, at).live_bytes); }},
    {"peak_bytes", whole, "the most so far", [](In in, At at, Out out) { out.whole(total_at(in, at).peak_bytes); }},
    {"allocations_live", whole, "", [](In in, At at, Out out) { out.whole(total_at(in, at).live_count); }},
    {"allocations_made", whole, "so far", [](In in, At at, Out out) { out.whole(total_at(in, at).total_count); }},
    {"bytes_made", whole, "allocated so far", [](In in, At at, Out out) { out.whole(total_at(in, at).total_bytes); }},
    {"allocated_bytes", whole, "as the device's allocator reports",
     [](In in, At at, Out out) { number_or_null(out, total_at(in, at).allocator_allocated); }},
    {"reserved_bytes", whole, "taken from the driver by the device's allocator",
     [](In in, At at, Out out) { number_or_null(out, total_at(in, at).allocator_reserved); }},
    {"reserved_peak_bytes", whole, "the most so far",
     [](In in, At at, Out out) { number_or_null(out, total_at(in, at).allocator_reserved_peak); }},
    {"driver_bytes", whole, "memory of the device",
     [](In in, At at, Out out) {
       if (memory_of(in, at) != nullptr) number_or_null(out, memory_of(in, at)->driver_total);
     }},
    {"driver_free_bytes", whole, "of it free",
     [](In in, At at, Out out) {
       const DeviceMemory* memory = memory_of(in, at);
       if (memory != nullptr && memory->driver_total != 0) out.whole(memory->driver_free);
     }},
    {"process_bytes", whole, "of this process, as the driver reports",
     [](In in, At at, Out out) {
       if (memory_of(in, at) != nullptr) number_or_null(out, memory_of(in, at)->own_bytes);
     }},
    {"backend", text, "torch's allocator",
     [](In in, At at, Out out) {
       if (memory_of(in, at) != nullptr) text_or_null(out, memory_of(in, at)->backend);
     }},
};

// Row::index: the device; Row::part: the segment or block.
const DeviceMemory& device_at(In in, At at) { return in.dump().device_memory[at.index]; }
const analyzer::Segment& segment_at(In in, At at) { return device_at(in, at).segments[at.part]; }
const analyzer::SegmentBlock& block_at(In in, At at) { return device_at(in, at).blocks[at.part]; }
void device_cell(In in, At at, Out out) { out.text(device_at(in, at).device.text()); }

constexpr Column kSegments[] = {
    kDumpColumn,
    {"device", word, "cuda:0, ...", device_cell},
    {"segment", whole, "number in its device", [](In, At at, Out out) { out.whole(at.part); }},
    {"address", whole, "", [](In in, At at, Out out) { out.whole(segment_at(in, at).address); }},
    {"bytes", whole, "size", [](In in, At at, Out out) { out.whole(segment_at(in, at).size); }},
    {"allocated_bytes", whole, "in blocks in use",
     [](In in, At at, Out out) { out.whole(segment_at(in, at).allocated); }},
    {"active_bytes", whole, "the same and blocks that wait for a stream",
     [](In in, At at, Out out) { out.whole(segment_at(in, at).active); }},
    {"requested_bytes", whole, "asked for by the program",
     [](In in, At at, Out out) { number_or_null(out, segment_at(in, at).requested); }},
    {"stream", whole, "", [](In in, At at, Out out) { out.whole(segment_at(in, at).stream); }},
    {"is_small", truth, "of the pool for requests up to 1 MiB",
     [](In in, At at, Out out) { out.truth(segment_at(in, at).small); }},
    {"is_expandable", truth, "", [](In in, At at, Out out) { out.truth(segment_at(in, at).expandable); }},
    {"is_private", truth, "of a private pool",
     [](In in, At at, Out out) { out.truth(segment_at(in, at).private_pool()); }},
};

constexpr Column kBlocks[] = {
    kDumpColumn,
    {"device", word, "cuda:0, ...", device_cell},
    {"segment", whole, "segment",
     [](In in, At at, Out out) {
       const std::vector<analyzer::Segment>& segments = device_at(in, at).segments;
       const auto after =
           std::upper_bound(segments.begin(), segments.end(), at.part,
                            [](size_t block, const analyzer::Segment& segment) { return block < segment.first_block; });
       if (after != segments.begin()) out.whole(uint64_t(after - segments.begin() - 1));
     }},
    {"address", whole, "", [](In in, At at, Out out) { out.whole(block_at(in, at).address); }},
    {"bytes", whole, "size", [](In in, At at, Out out) { out.whole(block_at(in, at).size); }},
    {"requested_bytes", whole, "asked for by the program",
     [](In in, At at, Out out) { number_or_null(out, block_at(in, at).requested); }},
    {"state", word, "allocated, pending_free, free",
     [](In in, At at, Out out) { out.text(format::EnumNameBlockState(format::BlockState(block_at(in, at).state))); }},
};

const analyzer::RuntimeBlock& runtime_at(In in, At at) { return in.dump().runtime_blocks[at.index]; }

constexpr Column kRuntimeBlocks[] = {
    kDumpColumn,
    {"runtime_block", whole, "id", [](In in, At at, Out out) { out.whole(runtime_at(in, at).serial); }},
    {"bytes", whole, "size", [](In in, At at, Out out) { out.whole(runtime_at(in, at).nbytes); }},
    {"device", word, "cpu for pinned and registered memory",
     [](In in, At at, Out out) { out.text(runtime_at(in, at).device.text()); }},
    {"kind", word, "device, async, pinned, registered, managed",
     [](In in, At at, Out out) {
       out.text(format::EnumNameRuntimeKind(format::RuntimeKind(runtime_at(in, at).kind)));
     }},
    {"by_torch", truth, "called by torch's allocator: a segment, a pinned block",
     [](In in, At at, Out out) { out.truth(runtime_at(in, at).by_torch); }},
    {"address", whole, "", [](In in, At at, Out out) { out.whole(runtime_at(in, at).pointer); }},
    {"site", whole, "where it was allocated",
     [](In in, At at, Out out) { number_or_null(out, runtime_at(in, at).site); }},
    {"place", word, "the same as one line",
     [](In in, At at, Out out) { place_or_null(in, out, runtime_at(in, at).site); }},
    {"thread", whole, "", [](In in, At at, Out out) { number_or_null(out, runtime_at(in, at).thread); }},
    {"created_ns", whole, "when, monotonic clock",
     [](In in, At at, Out out) { number_or_null(out, runtime_at(in, at).created_ns); }},
};

const analyzer::DriverBlock& driver_at(In in, At at) { return in.dump().driver_memory.blocks[at.index]; }

constexpr Column kDriverBlocks[] = {
    kDumpColumn,
    {"address", whole, "null: mapped nowhere",
     [](In in, At at, Out out) { number_or_null(out, driver_at(in, at).pointer); }},
    {"bytes", whole, "size", [](In in, At at, Out out) { out.whole(driver_at(in, at).nbytes); }},
    {"device", word, "", [](In in, At at, Out out) { out.text(driver_at(in, at).device.text()); }},
    {"kind", word, "pageable, pinned, device, array, managed, ...",
     [](In in, At at, Out out) {
       out.text(format::EnumNameDriverMemoryKind(format::DriverMemoryKind(driver_at(in, at).kind)));
     }},
    {"site", whole, "the call that made it",
     [](In in, At at, Out out) { number_or_null(out, driver_at(in, at).site); }},
    {"place", word, "the same as one line",
     [](In in, At at, Out out) { place_or_null(in, out, driver_at(in, at).site); }},
    {"created_ns", whole, "when, monotonic clock",
     [](In in, At at, Out out) { number_or_null(out, driver_at(in, at).created_ns); }},
};

const analyzer::SiteLaunches& launches_at(In in, At at) { return in.dump().launches[at.index]; }

constexpr Column kLaunches[] = {
    kDumpColumn,
    {"site", whole, "site; null: not known",
     [](In in, At at, Out out) { number_or_null(out, launches_at(in, at).site); }},
    {"place", word, "the same as one line",
     [](In in, At at, Out out) { place_or_null(in, out, launches_at(in, at).site); }},
    {"kernels", whole, "", [](In in, At at, Out out) { out.whole(launches_at(in, at).kernels); }},
    {"kernel_ns", whole, "time on the device", [](In in, At at, Out out) { out.whole(launches_at(in, at).kernel_ns); }},
    {"copies", whole, "", [](In in, At at, Out out) { out.whole(launches_at(in, at).copies); }},
    {"copied_bytes", whole, "", [](In in, At at, Out out) { out.whole(launches_at(in, at).copied_bytes); }},
    {"to_device_bytes", whole, "of these: from the host",
     [](In in, At at, Out out) { out.whole(launches_at(in, at).to_device_bytes); }},
    {"to_host_bytes", whole, "of these: from a device",
     [](In in, At at, Out out) { out.whole(launches_at(in, at).to_host_bytes); }},
    {"copy_ns", whole, "time on the device", [](In in, At at, Out out) { out.whole(launches_at(in, at).copy_ns); }},
    {"fills", whole, "", [](In in, At at, Out out) { out.whole(launches_at(in, at).fills); }},
    {"filled_bytes", whole, "", [](In in, At at, Out out) { out.whole(launches_at(in, at).filled_bytes); }},
    {"fill_ns", whole, "time on the device", [](In in, At at, Out out) { out.whole(launches_at(in, at).fill_ns); }},
};

const analyzer::Mapping& mapping_at(In in, At at) { return in.dump().process_parts.mappings[at.index]; }

constexpr Column kMappings[] = {
    kDumpColumn,
    {"name", text, "file; null: anonymous memory",
     [](In in, At at, Out out) { text_or_null(out, mapping_at(in, at).name); }},
    {"kind", word, "file, anonymous, heap, stack, shared, other",
     [](In in, At at, Out out) {
       out.text(format::EnumNameMappingKind(format::MappingKind(mapping_at(in, at).kind)));
     }},
    {"mappings", whole, "of that name", [](In in, At at, Out out) { out.whole(mapping_at(in, at).count); }},
    {"resident_bytes", whole, "", [](In in, At at, Out out) { out.whole(mapping_at(in, at).resident); }},
    {"private_bytes", whole, "of these: of this process alone",
     [](In in, At at, Out out) { out.whole(mapping_at(in, at).private_bytes); }},
    {"anonymous_bytes", whole, "of these: pages that no file has",
     [](In in, At at, Out out) { out.whole(mapping_at(in, at).anonymous); }},
};

template <typename Count>
void each_of_device(In in, const VisitRow& visit, Count count) {
  const std::vector<DeviceMemory>& devices = in.dump().device_memory;
  for (size_t device = 0; device < devices.size(); ++device) {
    for (size_t part = 0; part < count(devices[device]); ++part) {
      if (!visit({.index = device, .part = part})) return;
    }
  }
}

constexpr Table kMemoryTables[] = {
    {"devices", "Memory of each device.", FileKind::dump, kDevices,
     [](In in, const VisitRow& visit) { each_index(in.dump().totals.devices.size(), visit); }},
    {"segments", "Segments of torch's caching allocator.", FileKind::dump, kSegments,
     [](In in, const VisitRow& visit) {
       each_of_device(in, visit, [](const DeviceMemory& device) { return device.segments.size(); });
     }},
    {"blocks", "Blocks of the segments.", FileKind::dump, kBlocks,
     [](In in, const VisitRow& visit) {
       each_of_device(in, visit, [](const DeviceMemory& device) { return device.blocks.size(); });
     }},
    {"runtime_blocks", "Memory taken from the CUDA runtime.", FileKind::dump, kRuntimeBlocks,
     [](In in, const VisitRow& visit) { each_index(in.dump().runtime_blocks.size(), visit); }},
    {"driver_blocks", "Memory that CUPTI reported, of any caller.", FileKind::dump, kDriverBlocks,
     [](In in, const VisitRow& visit) { each_index(in.dump().driver_memory.blocks.size(), visit); }},
    {"launches", "What each site started on devices, as CUPTI reported.", FileKind::dump, kLaunches,
     [](In in, const VisitRow& visit) { each_index(in.dump().launches.size(), visit); }},
    {"mappings", "The process's memory by file.", FileKind::dump, kMappings,
     [](In in, const VisitRow& visit) { each_index(in.dump().process_parts.mappings.size(), visit); }},
};

}  // namespace

std::span<const Table> memory_tables() { return kMemoryTables; }

}  // namespace tensorscope::tables
