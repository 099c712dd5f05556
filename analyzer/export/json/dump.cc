// SPDX-License-Identifier: Apache-2.0
#include "dump_generated.h"
#include "export/export.h"
#include "export/json/autograd.h"
#include "export/json/dump_fields.h"
#include "export/json/history.h"
#include "export/json/memory.h"
#include "export/json/process.h"
#include "export/json/stacks.h"
#include "export/json/tensors.h"
#include "symbols/unread.h"

namespace tensorscope::exports {

namespace {

using analyzer::Dump;

constexpr int kExportSchema = 1;

Json file(const Dump& dump) {
  return {{"schema", kExportSchema}, {"dump", dump.path}, {"complete", dump.complete}, {"problems", dump.problems}};
}

Json storage(const Dump& dump, const analyzer::Storage& s) {
  Json tensors = Json::array();
  for (uint32_t i : s.tensors) tensors.push_back(dump.tensors[i].serial);
  return {{"id", s.id},
          {"data_ptr", s.data_ptr},
          {"nbytes", s.nbytes},
          {"own_nbytes", s.own_nbytes},
          {"device", s.device.text()},
          {"kind", analyzer::text(s.kind)},
          {"allocation", s.allocation == analyzer::kNone ? Json(nullptr) : Json(dump.allocations[s.allocation].serial)},
          {"runtime_block",
           s.runtime_block == analyzer::kNone ? Json(nullptr) : Json(dump.runtime_blocks[s.runtime_block].serial)},
          {"tensors", tensors}};
}

Json allocation(const Dump& dump, const analyzer::Allocation& a) {
  Json storages = Json::array();
  for (uint32_t i : a.storages) storages.push_back(dump.storages[i].id);
  return {{"id", a.serial},
          {"pointer", a.pointer},
          {"nbytes", a.nbytes},
          {"device", a.device.text()},
          {"kind", format::EnumNameAllocationKind(format::AllocationKind(a.kind))},
          {"node", number_or_null(a.node)},
          {"thread", tid_json(dump, a.thread)},
          {"thread_name", thread_name_json(dump, a.thread)},
          {"created_ns", a.created_ns},
          {"age_ns", age_json(dump, a.created_ns)},
          {"inherited", a.inherited},
          {"storages", storages},
          {"site", number_or_null(a.site)}};
}

Json references(const Dump& dump) {
  const analyzer::References& r = dump.references;
  if (!r.present) return nullptr;
  return {{"complete", r.complete},
          {"detail", text_or_null(r.detail)},
          {"objects", r.objects},
          {"gil_ns", r.gil_ns},
          {"stopped_by",
           r.stopped_by == 0 ? Json(nullptr) : Json(format::EnumNameNamesLimit(format::NamesLimit(r.stopped_by)))},
          {"named", r.named},
          {"time_limit_ms", r.time_limit_ms},
          {"memory_limit", r.memory_limit},
          {"memory_taken", r.memory_taken},
          {"containers_complete", r.has_containers && r.containers_detail.empty()}};
}

Json container(const analyzer::ObjectContainer& row) {
  return {{"name", row.line()},
          {"type", text_or_null(row.type_name)},
          {"entries", row.entries},
          {"entry_type", text_or_null(row.entry_type)},
          {"bytes", row.bytes},
          {"cpp_objects", row.cpp_objects},
          {"cpp_type", text_or_null(row.cpp_type)}};
}

std::string site(const Dump& dump, analyzer::Symbols& symbols, StackTexts& stacks, uint32_t id) {
  const analyzer::Site& s = dump.sites[id];
  Json row = {{"id", id},
              {"tensors_live", s.tensors_live},
              {"tensors_total", s.tensors_total},
              {"allocations_live", s.allocations_live},
              {"allocations_total", s.allocations_total},
              {"bytes_live", s.bytes_live},
              {"bytes_total", s.bytes_total},
              {"bytes_peak", s.bytes_peak},
              {"module_path", text_or_null(symbols.module_path(s))},
              {"stack", id}};
  std::string text = text_of(row);
  text.back() = ',';
  text += "\"headline\":";
  stacks.append_frame(text, symbols.headline(s));
  return text + "}";
}

}  // namespace

void export_json(const Dump& dump, analyzer::Symbols& symbols, std::ostream& out, const ExportOptions& options) {
  std::vector<uint32_t> leaves;
  for (const analyzer::Site& site : dump.sites) leaves.push_back(site.native);
  symbols.prefetch(leaves);
  StackTexts stacks(dump, symbols, options.full_stacks);
  out << "{\n\"tensorscope\":" << text_of(file(dump));
  write_process_json(dump, out);
  write_history_json(dump, out);
  write_tensors_json(dump, symbols, stacks, options, out);
  write_rows(out, "storages", dump.storages.size(), [&](size_t i) { return text_of(storage(dump, dump.storages[i])); });
  write_rows(out, "allocations", dump.allocations.size(),
             [&](size_t i) { return text_of(allocation(dump, dump.allocations[i])); });
  write_memory_json(dump, out);
  write_nodes_json(dump, out);
  out << ",\n\"references\":" << text_of(references(dump));
  write_rows(out, "containers", dump.references.containers.size(),
             [&](size_t i) { return text_of(container(dump.references.containers[i])); });
  write_graph_json(dump, symbols, out);
  const size_t sites = dump.sites.size() - 1;
  write_rows(out, "sites", sites, [&](size_t i) { return site(dump, symbols, stacks, uint32_t(i + 1)); });
  write_rows(out, "stacks", sites, [&](size_t i) {
    return "{\"id\":" + std::to_string(i + 1) + ",\"frames\":" + stacks.stack(uint32_t(i + 1)) + "}";
  });
  out << ",\n\"not_read\":" << text_of(not_read_json(symbols.unread().files())) << "\n}\n";
}

}  // namespace tensorscope::exports
