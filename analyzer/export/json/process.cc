// SPDX-License-Identifier: Apache-2.0
#include "export/json/process.h"

#include "dump_generated.h"
#include "export/json/scalars.h"

namespace tensorscope::exports {

namespace {

using analyzer::Dump;

Json process(const Dump& dump) {
  const analyzer::Process& p = dump.process;
  const auto trigger =
      p.trigger >= 0 && p.trigger <= int(format::Trigger::MAX) ? format::Trigger(p.trigger) : format::Trigger::unknown;
  Json settings = Json::object();
  for (const auto& [key, value] : p.options) settings[key] = value;
  return {{"pid", p.pid},
          {"parent_pid", p.parent_pid},
          {"forked_from", number_or_null(p.forked_from)},
          {"program", p.program},
          {"executable", p.executable},
          {"command_line", p.command_line},
          {"working_directory", p.working_directory},
          {"host", p.host},
          {"run_id", p.run_id},
          {"start_unix_ns", p.start_unix_ns},
          {"start_ns", p.start_ns},
          {"dump_unix_ns", p.dump_unix_ns},
          {"dump_ns", p.dump_ns},
          {"trigger", format::EnumNameTrigger(trigger)},
          {"trigger_detail", p.trigger_detail},
          {"dump_number", p.dump_number},
          {"asked_by_run", text_or_null(p.asked_by_run)},
          {"asked_by_dump", number_or_null(p.asked_by_dump)},
          {"rank", natural_or_null(p.rank)},
          {"local_rank", natural_or_null(p.local_rank)},
          {"world_size", natural_or_null(p.world_size)},
          {"step", natural_or_null(p.step)},
          {"job", text_or_null(p.job)},
          {"process_groups", process_groups_json(dump.process_groups)},
          {"torch_version", text_or_null(p.torch_version)},
          {"python_version", text_or_null(p.python_version)},
          {"tensorscope_version", p.tensorscope_version},
          {"options", settings},
          {"snapshot_serial", p.snapshot_serial},
          {"fork_serial", p.fork_serial},
          {"attached_ns", number_or_null(p.attached_ns)},
          {"earlier_tensors", p.attached_ns == 0 ? Json(nullptr) : Json(p.earlier_tensors)},
          {"earlier_detail", text_or_null(p.earlier_detail)},
          {"names_complete", dump.names_complete},
          {"names_detail", text_or_null(dump.names_detail)}};
}

Json totals(const Dump& dump) {
  const analyzer::Totals& t = dump.totals;
  Json devices = Json::array();
  for (const analyzer::DeviceTotal& d : t.devices) {
    devices.push_back({{"device", d.device.text()},
                       {"live_bytes", d.live_bytes},
                       {"peak_bytes", d.peak_bytes},
                       {"live_count", d.live_count},
                       {"total_count", d.total_count},
                       {"total_bytes", d.total_bytes},
                       {"allocator_allocated", d.allocator_allocated},
                       {"allocator_reserved", d.allocator_reserved},
                       {"allocator_reserved_peak", d.allocator_reserved_peak}});
  }
  return {{"devices", devices},
          {"tensors_live", t.tensors_live},
          {"tensors_total", t.tensors_total},
          {"resident_bytes", t.resident_bytes},
          {"resident_peak_bytes", t.resident_peak_bytes},
          {"cgroup_current", number_or_null(t.cgroup_current)},
          {"cgroup_limit", number_or_null(t.cgroup_limit)},
          {"machine_total", number_or_null(t.machine_total)},
          {"machine_available", number_or_null(t.machine_available)},
          {"profiler_bytes", t.profiler_bytes},
          {"stopped_ns", t.stopped_ns},
          {"phase1_ns", t.phase1_ns},
          {"heap_in_use", number_or_null(t.heap_in_use)},
          {"heap_free", number_or_null(t.heap_free)},
          {"children", t.children_known ? Json(t.children) : Json()},
          {"children_resident_bytes", t.children_known ? Json(t.children_resident_bytes) : Json()},
          {"children_private_bytes", number_or_null(t.children_private_bytes)},
          {"anonymous_bytes", number_or_null(t.anonymous_bytes)},
          {"file_bytes", number_or_null(t.file_bytes)},
          {"shared_bytes", number_or_null(t.shared_bytes)}};
}

Json process_memory(const Dump& dump) {
  const analyzer::ProcessParts& parts = dump.process_parts;
  if (!parts.present) return nullptr;
  Json mappings = Json::array();
  for (const analyzer::Mapping& row : parts.mappings) {
    mappings.push_back({{"name", text_or_null(row.name)},
                        {"kind", format::EnumNameMappingKind(format::MappingKind(row.kind))},
                        {"count", row.count},
                        {"resident_bytes", row.resident},
                        {"private_bytes", row.private_bytes},
                        {"anonymous_bytes", row.anonymous}});
  }
  Json holders = Json::array();
  for (const analyzer::SharedHolder& row : parts.shared_holders) {
    holders.push_back({{"pid", number_or_null(row.pid)},
                       {"name", text_or_null(row.name)},
                       {"files", row.files},
                       {"bytes", row.bytes},
                       {"deleted_bytes", row.deleted}});
  }
  return {{"python_arenas", number_or_null(parts.python_arenas)},
          {"python_in_use", number_or_null(parts.python_in_use)},
          {"python_detail", text_or_null(parts.python_detail)},
          {"mappings", parts.mappings.empty() ? Json(nullptr) : mappings},
          {"mappings_detail", text_or_null(parts.mappings_detail)},
          {"shared_total", number_or_null(parts.shared_total)},
          {"shared_left", parts.shared_total == 0 ? Json(nullptr) : Json(parts.shared_left)},
          {"shared_holders", holders},
          {"shared_detail", text_or_null(parts.shared_detail)}};
}

Json coverage(const analyzer::Coverage& row) {
  const auto seen = row.seen >= 0 && row.seen <= int(format::Seen::MAX) ? format::Seen(row.seen) : format::Seen::no;
  return {
      {"subject", row.subject}, {"seen", format::EnumNameSeen(seen)}, {"detail", row.detail}, {"missed", row.missed}};
}

Json thread(const analyzer::Thread& row) { return {{"tid", row.tid}, {"name", row.name}, {"alive", row.alive}}; }

}  // namespace

void write_process_json(const Dump& dump, std::ostream& out) {
  out << ",\n\"process\":" << text_of(process(dump)) << ",\n\"totals\":" << text_of(totals(dump))
      << ",\n\"process_memory\":" << text_of(process_memory(dump));
  write_rows(out, "coverage", dump.coverage.size(), [&](size_t i) { return text_of(coverage(dump.coverage[i])); });
  write_rows(out, "threads", dump.threads.size() - 1, [&](size_t i) { return text_of(thread(dump.threads[i + 1])); });
}

}  // namespace tensorscope::exports
