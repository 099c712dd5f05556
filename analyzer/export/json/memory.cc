// SPDX-License-Identifier: Apache-2.0
#include "export/json/memory.h"

#include "dump_generated.h"
#include "export/json/dump_fields.h"

namespace tensorscope::exports {

namespace {

using analyzer::Dump;

Json failure(const Dump& dump) {
  if (!dump.failure) return nullptr;
  const analyzer::Failure& f = *dump.failure;
  const bool limited = f.limit_bytes != 0;
  return {{"kind", format::EnumNameFailureKind(format::FailureKind(f.kind))},
          {"limit", format::EnumNameMemoryLimit(format::MemoryLimit(f.limit))},
          {"device", f.device.text()},
          {"requested", number_or_null(f.requested)},
          {"allocator_allocated", f.allocator_allocated},
          {"allocator_reserved", f.allocator_reserved},
          {"limit_bytes", number_or_null(f.limit_bytes)},
          {"left_bytes", limited ? Json(f.left_bytes) : Json(nullptr)},
          {"error", text_or_null(f.error)},
          {"node", number_or_null(f.node_serial)},
          {"thread", tid_json(dump, f.thread)},
          {"failed_ns", f.failed_ns},
          {"failures", f.failures},
          {"without_dump", f.without_dump},
          {"site", number_or_null(f.site)}};
}

Json segment(const analyzer::DeviceMemory& memory, const analyzer::Segment& s) {
  Json blocks = Json::array();
  for (const analyzer::SegmentBlock& block : memory.blocks_of(s)) {
    blocks.push_back({{"address", block.address},
                      {"size", block.size},
                      {"requested", number_or_null(block.requested)},
                      {"state", format::EnumNameBlockState(format::BlockState(block.state))}});
  }
  return {{"address", s.address},
          {"size", s.size},
          {"allocated", s.allocated},
          {"active", s.active},
          {"requested", number_or_null(s.requested)},
          {"stream", s.stream},
          {"pool", {s.pool_user, s.pool}},
          {"small", s.small},
          {"expandable", s.expandable},
          {"blocks", blocks}};
}

void write_device(const analyzer::DeviceMemory& m, std::ostream& out) {
  Json processes = Json::array();
  for (const analyzer::DeviceProcess& process : m.processes) {
    processes.push_back({{"pid", process.pid}, {"bytes", process.bytes ? Json(*process.bytes) : Json(nullptr)}});
  }
  const Json head = {{"device", m.device.text()},
                     {"name", text_or_null(m.name)},
                     {"backend", text_or_null(m.backend)},
                     {"settings", text_or_null(m.settings)},
                     {"driver_total", number_or_null(m.driver_total)},
                     {"driver_free", m.driver_total == 0 ? Json(nullptr) : Json(m.driver_free)},
                     {"own_bytes", number_or_null(m.own_bytes)},
                     {"processes", processes},
                     {"driver_detail", text_or_null(m.driver_detail)},
                     {"segments_from", format::EnumNameSegmentSource(format::SegmentSource(m.segments_from))},
                     {"segments_detail", text_or_null(m.segments_detail)},
                     {"looked_ns", m.looked_ns}};
  out << begun_object(head) << ",\"segments\":";
  write_list(out, m.segments.size(), [&](size_t i) { return text_of(segment(m, m.segments[i])); });
  out << "}";
}

Json runtime_block(const Dump& dump, const analyzer::RuntimeBlock& b) {
  Json storages = Json::array();
  for (uint32_t i : b.storages) storages.push_back(dump.storages[i].id);
  return {{"id", b.serial},
          {"pointer", b.pointer},
          {"nbytes", b.nbytes},
          {"device", b.device.text()},
          {"kind", format::EnumNameRuntimeKind(format::RuntimeKind(b.kind))},
          {"by_torch", b.by_torch},
          {"thread", tid_json(dump, b.thread)},
          {"created_ns", b.created_ns},
          {"storages", storages},
          {"site", number_or_null(b.site)}};
}

Json driver_block(const analyzer::DriverBlock& b) {
  return {
      {"pointer", b.pointer},           {"nbytes", b.nbytes},
      {"device", b.device.text()},      {"kind", format::EnumNameDriverMemoryKind(format::DriverMemoryKind(b.kind))},
      {"asynchronous", b.asynchronous}, {"process", b.process},
      {"context", b.context},           {"stream", b.stream},
      {"created_ns", b.created_ns},     {"site", number_or_null(b.site)}};
}

void write_driver_memory(const analyzer::DriverMemory& m, std::ostream& out) {
  if (!m.present) {
    out << "null";
    return;
  }
  const Json head = {{"version", m.version},
                     {"began_ns", m.began_ns},
                     {"ended_ns", number_or_null(m.ended_ns)},
                     {"allocations", m.allocations},
                     {"releases", m.releases},
                     {"unknown_releases", m.unknown_releases},
                     {"lost", m.lost},
                     {"flushed", m.flushed}};
  out << begun_object(head) << ",\"blocks\":";
  write_list(out, m.blocks.size(), [&](size_t i) { return text_of(driver_block(m.blocks[i])); });
  out << "}";
}

Json launches(const analyzer::SiteLaunches& l) {
  return {{"site", number_or_null(l.site)},
          {"kernels", l.kernels},
          {"kernel_ns", l.kernel_ns},
          {"copies", l.copies},
          {"copied_bytes", l.copied_bytes},
          {"copy_ns", l.copy_ns},
          {"to_device_bytes", l.to_device_bytes},
          {"to_host_bytes", l.to_host_bytes},
          {"fills", l.fills},
          {"filled_bytes", l.filled_bytes},
          {"fill_ns", l.fill_ns}};
}

}  // namespace

void write_memory_json(const Dump& dump, std::ostream& out) {
  out << ",\n\"failure\":" << text_of(failure(dump)) << ",\n\"device_memory\":[";
  for (size_t i = 0; i < dump.device_memory.size(); i++) {
    out << (i ? ",\n" : "\n");
    write_device(dump.device_memory[i], out);
  }
  out << "]";
  write_rows(out, "runtime_blocks", dump.runtime_blocks.size(),
             [&](size_t i) { return text_of(runtime_block(dump, dump.runtime_blocks[i])); });
  out << ",\n\"driver_memory\":";
  write_driver_memory(dump.driver_memory, out);
  if (!dump.launches_known) {
    out << ",\n\"launches\":null";
    return;
  }
  write_rows(out, "launches", dump.launches.size(), [&](size_t i) { return text_of(launches(dump.launches[i])); });
}

}  // namespace tensorscope::exports
