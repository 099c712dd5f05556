// The part of RowCollector that reads what failed, the memory of devices, and the blocks of the CUDA runtime.
#include <algorithm>

#include "dump/row_collector_verify.h"
#include "dump/sort_by_serial.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

bool on_host(format::RuntimeKind kind, int8_t device_index) {
  return device_index < 0 || kind == format::RuntimeKind::pinned || kind == format::RuntimeKind::registered;
}

}  // namespace

void RowCollector::add_failure(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::Failure>(chunk);
  if (!in) return;
  Failure& out = dump_.failure.emplace();
  if (in->kind() <= format::FailureKind::MAX) out.kind = uint8_t(in->kind());
  if (in->limit() <= format::MemoryLimit::MAX) out.limit = uint8_t(in->limit());
  out.device = device_of(in->device_type(), in->device_index());
  out.requested = in->requested();
  out.allocator_allocated = in->allocator_allocated();
  out.allocator_reserved = in->allocator_reserved();
  out.limit_bytes = in->limit_bytes();
  out.left_bytes = in->left_bytes();
  if (out.limit_bytes != 0 && out.left_bytes > out.limit_bytes) {
    count("limits with more left than there is");
    out.limit_bytes = out.left_bytes = 0;
  }
  if (in->error()) out.error = charged(in->error()->string_view());
  out.site = in->site();
  out.thread = in->thread();
  out.node_serial = in->node();
  out.failed_ns = in->failed_ns();
  out.failures = in->failures();
  out.without_dump = std::min(in->without_dump(), in->failures());
}

void RowCollector::add_device_memory(const ChunkView& chunk) {
  const auto* in = verified<format::DeviceMemory>(chunk);
  if (!in) return;
  const Device device = device_of(in->device_type(), in->device_index());
  if (!described_.insert(device).second) {
    count("second descriptions of a device's memory");
    return;
  }
  auto str = [&](const flatbuffers::String* s) { return s ? charged(s->string_view()) : std::string(); };
  DeviceMemory& out = dump_.device_memory.emplace_back();
  out.device = device;
  out.name = str(in->name());
  out.backend = str(in->backend());
  out.settings = str(in->settings());
  out.driver_total = in->driver_total();
  out.driver_free = in->driver_free();
  out.own_bytes = in->own_bytes();
  out.driver_detail = str(in->driver_detail());
  out.segments_detail = str(in->segments_detail());
  if (in->segments_from() <= format::SegmentSource::MAX) out.segments_from = uint8_t(in->segments_from());
  out.looked_ns = in->looked_ns();
  if (in->processes()) {
    for (const format::DeviceProcess* row : *in->processes()) {
      out.processes.push_back({row->pid(), row->bytes() == UINT64_MAX ? std::nullopt : std::optional(row->bytes())});
    }
  }
  check_driver(out);
  if (in->blocks()) {
    for (const format::SegmentBlock* row : *in->blocks()) {
      out.blocks.push_back({row->address(), row->size(), row->requested(), uint8_t(row->state())});
    }
  }
  std::vector<uint32_t> block_counts;
  if (in->segments()) {
    for (const format::Segment* row : *in->segments()) {
      Segment segment;
      segment.address = row->address();
      segment.size = row->size();
      segment.allocated = row->allocated();
      segment.active = row->active();
      segment.requested = row->requested();
      segment.stream = row->stream();
      segment.pool = row->pool();
      segment.pool_user = row->pool_user();
      segment.small = row->flags() & uint8_t(format::SegmentFlag::small);
      segment.expandable = row->flags() & uint8_t(format::SegmentFlag::expandable);
      out.segments.push_back(segment);
      block_counts.push_back(row->blocks());
    }
  }
  check_segments(out, block_counts);
}

void RowCollector::check_driver(DeviceMemory& memory) {
  if (memory.driver_free > memory.driver_total || !driver_.admits(memory.driver_total)) {
    count("devices with impossible totals");
    memory.driver_total = memory.driver_free = 0;
  }
  // With totals that are known to be possible, the sum over processes need not be: the driver may count a page twice.
  if (memory.driver_total != 0 && memory.own_bytes > memory.driver_total) {
    count("processes with more than the device has");
    memory.own_bytes = 0;
  }
  if (!driver_.admits(memory.own_bytes)) memory.own_bytes = 0, count("processes with more than the device has");
  for (DeviceProcess& process : memory.processes) {
    if (!process.bytes) continue;
    const bool too_much = memory.driver_total != 0 && *process.bytes > memory.driver_total;
    if (!too_much && driver_.admits(*process.bytes)) continue;
    count("processes with more than the device has");
    process.bytes.reset();
  }
}

void RowCollector::check_segments(DeviceMemory& memory, const std::vector<uint32_t>& block_counts) {
  const std::vector<SegmentBlock> all = std::move(memory.blocks);
  std::vector<Segment> kept;
  memory.blocks.clear();
  size_t next = 0;
  for (size_t i = 0; i < memory.segments.size(); i++) {
    Segment segment = memory.segments[i];
    const size_t first = next, wanted = std::min<size_t>(block_counts[i], all.size() - next);
    if (wanted != block_counts[i]) count("blocks of segments that are not in the file", block_counts[i] - wanted);
    next += wanted;
    uint64_t end = 0;
    if (__builtin_add_overflow(segment.address, segment.size, &end) || !segments_.admits(segment.size)) {
      count("invalid segments");
      continue;
    }
    if (segment.allocated > segment.active || segment.active > segment.size) {
      count("segments smaller than their blocks");
      segment.active = std::min(segment.active, segment.size);
      segment.allocated = std::min(segment.allocated, segment.active);
    }
    if (segment.requested > segment.active) segment.requested = 0;
    segment.first_block = uint32_t(memory.blocks.size());
    uint64_t from = segment.address;
    for (size_t b = first; b < next; b++) {
      SegmentBlock block = all[b];
      if (block.address < from || block.address > end || block.size > end - block.address ||
          block.state > uint8_t(format::BlockState::MAX)) {
        count("blocks outside of their segment");
        continue;
      }
      from = block.address + block.size;
      if (block.requested > block.size) block.requested = 0;
      memory.blocks.push_back(block);
    }
    segment.block_count = uint32_t(memory.blocks.size()) - segment.first_block;
    kept.push_back(segment);
  }
  memory.segments = std::move(kept);
}

void RowCollector::add_runtime_blocks(const ChunkView& chunk) {
  const auto* in = verified<format::RuntimeBlocks>(chunk);
  if (!in || !in->values()) return;
  for (const format::RuntimeBlock* row : *in->values()) {
    uint64_t end = 0;
    if (row->serial() == 0 || row->kind() > format::RuntimeKind::MAX ||
        __builtin_add_overflow(row->pointer(), std::max<uint64_t>(row->nbytes(), 1), &end)) {
      count("invalid blocks of the CUDA runtime");
      continue;
    }
    const Device device =
        on_host(row->kind(), row->device_index()) ? kHost : device_of(row->device_type(), row->device_index());
    dump_.runtime_blocks.push_back({row->serial(),
                                    row->pointer(),
                                    row->nbytes(),
                                    row->created_ns(),
                                    row->site(),
                                    row->thread(),
                                    uint8_t(row->kind()),
                                    row->by_torch() != 0,
                                    device,
                                    {}});
  }
}

void RowCollector::finish_memory() {
  std::sort(dump_.device_memory.begin(), dump_.device_memory.end(),
            [](const DeviceMemory& a, const DeviceMemory& b) { return a.device < b.device; });
  std::vector<uint32_t> order;
  if (size_t twice = sort_by_serial(dump_.runtime_blocks, order))
    count("blocks of the CUDA runtime listed twice", twice);
  SumGuard bytes;
  for (RuntimeBlock& block : dump_.runtime_blocks) {
    check_row(block.site, block.thread, block.created_ns);
    if (!bytes.admits(block.nbytes)) block.nbytes = 0, count("blocks of the CUDA runtime of an impossible size");
  }
  if (!dump_.failure) return;
  Failure& failure = *dump_.failure;
  check_row(failure.site, failure.thread, failure.failed_ns);
  failure.node = failure.node_serial == 0 ? kNone : row_with(dump_.nodes, failure.node_serial);
}

}  // namespace tensorscope::analyzer
