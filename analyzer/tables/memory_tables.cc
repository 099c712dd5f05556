// SPDX-License-Identifier: Apache-2.0
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

const DeviceTotal& total_at(InputFile& file, const Row& row) { return file.dump().totals.devices[row.index]; }
const DeviceMemory* memory_of(InputFile& file, const Row& row) {
  return file.dump().memory_of(total_at(file, row).device);
}

constexpr Column kDevices[] = {
    kDumpColumn,
    {"device", dictionary, "cpu, cuda:0, ...",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(total_at(file, row).device.text()); }},
    {"name", text, "\"NVIDIA H200\"",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (memory_of(file, row) != nullptr) text_or_null(column, memory_of(file, row)->name);
     }},
    {"live_bytes", int64, "in live allocations",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(total_at(file, row).live_bytes); }},
    {"peak_bytes", int64, "the most so far",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(total_at(file, row).peak_bytes); }},
    {"allocations_live", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(total_at(file, row).live_count); }},
    {"allocations_made", int64, "so far",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(total_at(file, row).total_count); }},
    {"bytes_made", int64, "allocated so far",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(total_at(file, row).total_bytes); }},
    {"allocated_bytes", int64, "as the device's allocator reports",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, total_at(file, row).allocator_allocated);
     }},
    {"reserved_bytes", int64, "taken from the driver by the device's allocator",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, total_at(file, row).allocator_reserved);
     }},
    {"reserved_peak_bytes", int64, "the most so far",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, total_at(file, row).allocator_reserved_peak);
     }},
    {"driver_bytes", int64, "memory of the device",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (memory_of(file, row) != nullptr) number_or_null(column, memory_of(file, row)->driver_total);
     }},
    {"driver_free_bytes", int64, "of it free",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const DeviceMemory* memory = memory_of(file, row);
       if (memory != nullptr && memory->driver_total != 0) column.int64(memory->driver_free);
     }},
    {"process_bytes", int64, "of this process, as the driver reports",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (memory_of(file, row) != nullptr) number_or_null(column, memory_of(file, row)->own_bytes);
     }},
    {"backend", text, "torch's allocator",
     [](InputFile& file, const Row& row, ColumnData& column) {
       if (memory_of(file, row) != nullptr) text_or_null(column, memory_of(file, row)->backend);
     }},
};

// Row::index: the device; Row::part: the segment or block.
const DeviceMemory& device_at(InputFile& file, const Row& row) { return file.dump().device_memory[row.index]; }
const analyzer::Segment& segment_at(InputFile& file, const Row& row) { return device_at(file, row).segments[row.part]; }
const analyzer::SegmentBlock& block_at(InputFile& file, const Row& row) {
  return device_at(file, row).blocks[row.part];
}
void device_cell(InputFile& file, const Row& row, ColumnData& column) {
  column.text(device_at(file, row).device.text());
}

constexpr Column kSegments[] = {
    kDumpColumn,
    {"device", dictionary, "cuda:0, ...", device_cell},
    {"segment", int64, "number in its device",
     [](InputFile&, const Row& row, ColumnData& column) { column.int64(row.part); }},
    {"address", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(segment_at(file, row).address); }},
    {"bytes", int64, "size",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(segment_at(file, row).size); }},
    {"allocated_bytes", int64, "in blocks in use",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(segment_at(file, row).allocated); }},
    {"active_bytes", int64, "the same and blocks that wait for a stream",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(segment_at(file, row).active); }},
    {"requested_bytes", int64, "asked for by the program",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, segment_at(file, row).requested);
     }},
    {"stream", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(segment_at(file, row).stream); }},
    {"is_small", boolean, "of the pool for requests up to 1 MiB",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(segment_at(file, row).small); }},
    {"is_expandable", boolean, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(segment_at(file, row).expandable); }},
    {"is_private", boolean, "of a private pool",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(segment_at(file, row).private_pool()); }},
};

constexpr Column kBlocks[] = {
    kDumpColumn,
    {"device", dictionary, "cuda:0, ...", device_cell},
    {"segment", int64, "segment",
     [](InputFile& file, const Row& row, ColumnData& column) {
       const std::vector<analyzer::Segment>& segments = device_at(file, row).segments;
       const auto after =
           std::upper_bound(segments.begin(), segments.end(), row.part,
                            [](size_t block, const analyzer::Segment& segment) { return block < segment.first_block; });
       if (after != segments.begin()) column.int64(uint64_t(after - segments.begin() - 1));
     }},
    {"address", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(block_at(file, row).address); }},
    {"bytes", int64, "size",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(block_at(file, row).size); }},
    {"requested_bytes", int64, "asked for by the program",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, block_at(file, row).requested);
     }},
    {"state", dictionary, "allocated, pending_free, free",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(format::EnumNameBlockState(format::BlockState(block_at(file, row).state)));
     }},
};

const analyzer::RuntimeBlock& runtime_at(InputFile& file, const Row& row) {
  return file.dump().runtime_blocks[row.index];
}

constexpr Column kRuntimeBlocks[] = {
    kDumpColumn,
    {"runtime_block", int64, "id",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(runtime_at(file, row).serial); }},
    {"bytes", int64, "size",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(runtime_at(file, row).nbytes); }},
    {"device", dictionary, "cpu for pinned and registered memory",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(runtime_at(file, row).device.text()); }},
    {"kind", dictionary, "device, async, pinned, registered, managed",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(format::EnumNameRuntimeKind(format::RuntimeKind(runtime_at(file, row).kind)));
     }},
    {"by_torch", boolean, "called by torch's allocator: a segment, a pinned block",
     [](InputFile& file, const Row& row, ColumnData& column) { column.boolean(runtime_at(file, row).by_torch); }},
    {"address", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(runtime_at(file, row).pointer); }},
    {"site", int64, "where it was allocated",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, runtime_at(file, row).site); }},
    {"place", dictionary, "the same as one line",
     [](InputFile& file, const Row& row, ColumnData& column) {
       place_or_null(file, column, runtime_at(file, row).site);
     }},
    {"thread", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, runtime_at(file, row).thread); }},
    {"created_ns", int64, "when, monotonic clock",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, runtime_at(file, row).created_ns);
     }},
};

const analyzer::DriverBlock& driver_at(InputFile& file, const Row& row) {
  return file.dump().driver_memory.blocks[row.index];
}

constexpr Column kDriverBlocks[] = {
    kDumpColumn,
    {"address", int64, "null: mapped nowhere",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, driver_at(file, row).pointer); }},
    {"bytes", int64, "size",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(driver_at(file, row).nbytes); }},
    {"device", dictionary, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(driver_at(file, row).device.text()); }},
    {"kind", dictionary, "pageable, pinned, device, array, managed, ...",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(format::EnumNameDriverMemoryKind(format::DriverMemoryKind(driver_at(file, row).kind)));
     }},
    {"site", int64, "the call that made it",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, driver_at(file, row).site); }},
    {"place", dictionary, "the same as one line",
     [](InputFile& file, const Row& row, ColumnData& column) {
       place_or_null(file, column, driver_at(file, row).site);
     }},
    {"created_ns", int64, "when, monotonic clock",
     [](InputFile& file, const Row& row, ColumnData& column) {
       number_or_null(column, driver_at(file, row).created_ns);
     }},
};

const analyzer::SiteLaunches& launches_at(InputFile& file, const Row& row) { return file.dump().launches[row.index]; }

constexpr Column kLaunches[] = {
    kDumpColumn,
    {"site", int64, "site; null: not known",
     [](InputFile& file, const Row& row, ColumnData& column) { number_or_null(column, launches_at(file, row).site); }},
    {"place", dictionary, "the same as one line",
     [](InputFile& file, const Row& row, ColumnData& column) {
       place_or_null(file, column, launches_at(file, row).site);
     }},
    {"kernels", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).kernels); }},
    {"kernel_ns", int64, "time on the device",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).kernel_ns); }},
    {"copies", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).copies); }},
    {"copied_bytes", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).copied_bytes); }},
    {"to_device_bytes", int64, "of these: from the host",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).to_device_bytes); }},
    {"to_host_bytes", int64, "of these: from a device",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).to_host_bytes); }},
    {"copy_ns", int64, "time on the device",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).copy_ns); }},
    {"fills", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).fills); }},
    {"filled_bytes", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).filled_bytes); }},
    {"fill_ns", int64, "time on the device",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(launches_at(file, row).fill_ns); }},
};

const analyzer::Mapping& mapping_at(InputFile& file, const Row& row) {
  return file.dump().process_parts.mappings[row.index];
}

constexpr Column kMappings[] = {
    kDumpColumn,
    {"name", text, "file; null: anonymous memory",
     [](InputFile& file, const Row& row, ColumnData& column) { text_or_null(column, mapping_at(file, row).name); }},
    {"kind", dictionary, "file, anonymous, heap, stack, shared, other",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.text(format::EnumNameMappingKind(format::MappingKind(mapping_at(file, row).kind)));
     }},
    {"mappings", int64, "of that name",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(mapping_at(file, row).count); }},
    {"resident_bytes", int64, "",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(mapping_at(file, row).resident); }},
    {"private_bytes", int64, "of these: of this process alone",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(mapping_at(file, row).private_bytes); }},
    {"anonymous_bytes", int64, "of these: pages that no file has",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(mapping_at(file, row).anonymous); }},
};

const analyzer::ObjectContainer& container_at(InputFile& file, const Row& row) {
  return file.dump().references.containers[row.index];
}

constexpr Column kContainers[] = {
    kDumpColumn,
    {"name", text, "how a person would write it",
     [](InputFile& file, const Row& row, ColumnData& column) { column.text(container_at(file, row).line()); }},
    {"type", dictionary, "its Python class",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, container_at(file, row).type_name);
     }},
    {"entries", int64, "elements, keys or attributes",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.int64(int64_t(container_at(file, row).entries));
     }},
    {"entry_type", dictionary, "class of most of its entries; null: it has none",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, container_at(file, row).entry_type);
     }},
    {"bytes", int64, "of Python's objects that go away with it or are named by it, itself included, without tensors",
     [](InputFile& file, const Row& row, ColumnData& column) { column.int64(int64_t(container_at(file, row).bytes)); }},
    {"cpp_objects", int64, "extension objects (of C, C++ or Rust) that go away with it or are named by it",
     [](InputFile& file, const Row& row, ColumnData& column) {
       column.int64(int64_t(container_at(file, row).cpp_objects));
     }},
    {"cpp_type", dictionary, "class of one of these; null: there are none",
     [](InputFile& file, const Row& row, ColumnData& column) {
       text_or_null(column, container_at(file, row).cpp_type);
     }},
};

template <typename Count>
void each_of_device(InputFile& file, const VisitRow& visit, Count count) {
  const std::vector<DeviceMemory>& devices = file.dump().device_memory;
  for (size_t device = 0; device < devices.size(); ++device) {
    for (size_t part = 0; part < count(devices[device]); ++part) {
      if (!visit({.index = device, .part = part})) return;
    }
  }
}

constexpr Table kMemoryTables[] = {
    {"devices", "Memory of each device.", FileKind::dump, kDevices,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().totals.devices.size(), visit); }},
    {"segments", "Segments of torch's caching allocator.", FileKind::dump, kSegments,
     [](InputFile& file, const VisitRow& visit) {
       each_of_device(file, visit, [](const DeviceMemory& device) { return device.segments.size(); });
     }},
    {"blocks", "Blocks of the segments.", FileKind::dump, kBlocks,
     [](InputFile& file, const VisitRow& visit) {
       each_of_device(file, visit, [](const DeviceMemory& device) { return device.blocks.size(); });
     }},
    {"runtime_blocks", "Memory taken from the CUDA runtime.", FileKind::dump, kRuntimeBlocks,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().runtime_blocks.size(), visit); }},
    {"driver_blocks", "Memory that CUPTI reported, of any caller.", FileKind::dump, kDriverBlocks,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().driver_memory.blocks.size(), visit); }},
    {"launches", "What each site started on devices, as CUPTI reported.", FileKind::dump, kLaunches,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().launches.size(), visit); }},
    {"mappings", "The process's memory by file.", FileKind::dump, kMappings,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().process_parts.mappings.size(), visit); }},
    {"containers", "Containers of plain Python objects, the largest.", FileKind::dump, kContainers,
     [](InputFile& file, const VisitRow& visit) { each_index(file.dump().references.containers.size(), visit); }},
};

}  // namespace

std::span<const Table> memory_tables() { return kMemoryTables; }

}  // namespace tensorscope::tables
