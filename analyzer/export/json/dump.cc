// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "dump/type_names.h"
#include "dump_generated.h"
#include "export/export.h"
#include "export/json/memory.h"
#include "export/json/scalars.h"
#include "symbols/unread.h"

namespace tensorscope::exports {

namespace {

using analyzer::Dump;

constexpr int kExportSchema = 1;

Json rank_or_null(int rank) { return rank < 0 ? Json(nullptr) : Json(rank); }

bool knows(const analyzer::Tensor& tensor, format::TensorKnown what) { return tensor.known & uint32_t(what); }
bool flagged(const analyzer::Tensor& tensor, format::TensorFlag what) { return tensor.flags & uint32_t(what); }

class JsonExport {
 public:
  JsonExport(const Dump& dump, analyzer::Symbols& symbols, std::ostream& out, const ExportOptions& options)
      : dump_(dump), symbols_(symbols), out_(out), options_(options) {
    for (const analyzer::Tensor& tensor : dump.tensors) by_address_.emplace(tensor.address, tensor.serial);
    std::vector<uint32_t> leaves;
    for (const analyzer::Site& site : dump.sites) leaves.push_back(site.native);
    symbols_.prefetch(leaves);
  }

  void write() {
    out_ << "{\n\"tensorscope\":" << text_of(file());
    out_ << ",\n\"process\":" << text_of(process());
    out_ << ",\n\"totals\":" << text_of(totals());
    out_ << ",\n\"process_memory\":" << text_of(process_memory());
    rows("coverage", dump_.coverage.size(), [&](size_t i) { return text_of(coverage(dump_.coverage[i])); });
    rows("threads", dump_.threads.size() - 1, [&](size_t i) { return text_of(thread(dump_.threads[i + 1])); });
    rows("tensors", dump_.tensors.size(), [&](size_t i) { return tensor(i); });
    rows("storages", dump_.storages.size(), [&](size_t i) { return text_of(storage(dump_.storages[i])); });
    rows("allocations", dump_.allocations.size(), [&](size_t i) { return text_of(allocation(dump_.allocations[i])); });
    write_memory_json(dump_, out_);
    rows("nodes", dump_.nodes.size(), [&](size_t i) { return text_of(node(dump_.nodes[i])); });
    out_ << ",\n\"references\":" << text_of(references());
    write_graph();
    rows("sites", dump_.sites.size() - 1, [&](size_t i) { return site(uint32_t(i + 1)); });
    rows("stacks", dump_.sites.size() - 1,
         [&](size_t i) { return "{\"id\":" + std::to_string(i + 1) + ",\"frames\":" + stack(uint32_t(i + 1)) + "}"; });
    out_ << ",\n\"not_read\":" << text_of(not_read_json(symbols_.unread().files()));
    out_ << "\n}\n";
  }

 private:
  template <typename Row>
  void rows(const char* name, size_t count, Row row) {
    out_ << ",\n\"" << name << "\":[";
    for (size_t i = 0; i < count; i++) out_ << (i ? ",\n" : "\n") << row(i);
    out_ << "]";
  }

  Json file() const {
    return {
        {"schema", kExportSchema}, {"dump", dump_.path}, {"complete", dump_.complete}, {"problems", dump_.problems}};
  }

  Json process() const {
    const analyzer::Process& p = dump_.process;
    const auto trigger = p.trigger >= 0 && p.trigger <= int(format::Trigger::MAX) ? format::Trigger(p.trigger)
                                                                                  : format::Trigger::unknown;
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
            {"rank", rank_or_null(p.rank)},
            {"local_rank", rank_or_null(p.local_rank)},
            {"world_size", rank_or_null(p.world_size)},
            {"step", p.step < 0 ? Json(nullptr) : Json(p.step)},
            {"job", text_or_null(p.job)},
            {"process_groups", process_groups()},
            {"torch_version", text_or_null(p.torch_version)},
            {"python_version", text_or_null(p.python_version)},
            {"tensorscope_version", p.tensorscope_version},
            {"options", settings},
            {"snapshot_serial", p.snapshot_serial},
            {"fork_serial", p.fork_serial},
            {"attached_ns", number_or_null(p.attached_ns)},
            {"earlier_tensors", p.attached_ns == 0 ? Json(nullptr) : Json(p.earlier_tensors)},
            {"earlier_detail", text_or_null(p.earlier_detail)},
            {"names_complete", dump_.names_complete},
            {"names_detail", text_or_null(dump_.names_detail)}};
  }

  Json process_groups() const {
    Json groups = Json::array();
    for (const analyzer::ProcessGroup& group : dump_.process_groups) {
      groups.push_back(
          {{"name", group.name}, {"mesh_dimension", text_or_null(group.mesh_dimension)}, {"ranks", group.ranks}});
    }
    return groups;
  }

  Json totals() const {
    const analyzer::Totals& t = dump_.totals;
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

  Json process_memory() const {
    const analyzer::ProcessParts& parts = dump_.process_parts;
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

  static Json coverage(const analyzer::Coverage& row) {
    const auto seen = row.seen >= 0 && row.seen <= int(format::Seen::MAX) ? format::Seen(row.seen) : format::Seen::no;
    return {
        {"subject", row.subject}, {"seen", format::EnumNameSeen(seen)}, {"detail", row.detail}, {"missed", row.missed}};
  }

  static Json thread(const analyzer::Thread& row) {
    return {{"tid", row.tid}, {"name", row.name}, {"alive", row.alive}};
  }

  Json tid(uint32_t thread) const { return thread == 0 ? Json(nullptr) : Json(dump_.threads[thread].tid); }
  Json thread_name(uint32_t thread) const { return thread == 0 ? Json(nullptr) : Json(dump_.threads[thread].name); }
  static Json site_id(uint32_t site) { return number_or_null(site); }
  Json age(uint64_t created_ns) const {
    return created_ns == 0 || dump_.process.dump_ns < created_ns ? Json(nullptr)
                                                                 : Json(dump_.process.dump_ns - created_ns);
  }

  std::string tensor(size_t index) {
    const analyzer::Tensor& t = dump_.tensors[index];
    auto if_known = [&](format::TensorKnown what, const Json& value) { return knows(t, what) ? value : Json(nullptr); };
    auto grad = knows(t, format::TensorKnown::grad) ? by_address_.find(t.grad) : by_address_.end();
    Json row = {
        {"id", t.serial},
        {"address", t.address},
        {"class", t.class_name},
        {"shape", if_known(format::TensorKnown::sizes, std::vector(t.sizes.begin(), t.sizes.end()))},
        {"strides", if_known(format::TensorKnown::strides, std::vector(t.strides.begin(), t.strides.end()))},
        {"dtype", if_known(format::TensorKnown::dtype, t.dtype_text())},
        {"device", if_known(format::TensorKnown::device, t.device.text())},
        {"layout", if_known(format::TensorKnown::layout, t.layout_text())},
        {"requires_grad", if_known(format::TensorKnown::requires_grad, flagged(t, format::TensorFlag::requires_grad))},
        {"is_leaf", if_known(format::TensorKnown::leaf, flagged(t, format::TensorFlag::leaf))},
        {"is_view", t.knows_view() ? Json(t.is_view()) : Json(nullptr)},
        {"numel", if_known(format::TensorKnown::sizes, t.numel)},
        {"itemsize", if_known(format::TensorKnown::dtype, t.itemsize)},
        {"nbytes", t.knows_size() ? Json(t.nbytes) : Json(nullptr)},
        {"storage", t.storage == analyzer::kNone ? Json(nullptr) : Json(dump_.storages[t.storage].id)},
        {"memory_is_known", t.knows_memory()},
        {"storage_offset", t.knows_offset() ? Json(t.storage_offset) : Json(nullptr)},
        {"grad_fn", text_or_null(t.grad_fn_name)},
        {"grad", grad == by_address_.end() || t.grad == 0 ? Json(nullptr) : Json(grad->second)},
        {"version", t.version == analyzer::kNone ? Json(nullptr) : Json(t.version)},
        {"names", names(index)},
        {"category", index < options_.categories.size() ? options_.categories[index] : "unknown"},
        {"evidence", options_.holders ? text_or_null(options_.holders->evidence(uint32_t(index))) : Json(nullptr)},
        {"category_source", options_.holders
                                ? text_or_null(analyzer::text(options_.holders->category_source(uint32_t(index))))
                                : Json(nullptr)},
        {"holders", holders(index)},
        {"holder_count", options_.holders ? options_.holders->holder_count(uint32_t(index)) : 0},
        {"module", options_.holders ? text_or_null(options_.holders->module(uint32_t(index))) : Json(nullptr)},
        {"type", python_type(index)},
        {"python_id", python_id(index)},
        {"thread", tid(t.thread)},
        {"thread_name", thread_name(t.thread)},
        {"created_ns", t.created_ns},
        {"age_ns", age(t.created_ns)},
        {"released", flagged(t, format::TensorFlag::released)},
        {"inherited", flagged(t, format::TensorFlag::inherited)},
        {"note", text_or_null(t.note)},
        {"module_path", text_or_null(symbols_.module_path(dump_.sites[t.site]))},
        {"site", site_id(t.site)}};
    std::string text = text_of(row);
    text.back() = ',';
    return text + "\"stack\":" + (options_.stacks_in_tensors ? stack(t.site) : text_of(site_id(t.site))) + "}";
  }

  Json names(size_t tensor) const {
    return options_.holders ? Json(options_.holders->names(uint32_t(tensor))) : Json::array();
  }

  Json holders(size_t tensor) const {
    Json rows = Json::array();
    if (!options_.holders) return rows;
    for (const analyzer::Holder& holder : options_.holders->holders(uint32_t(tensor))) {
      rows.push_back({{"kind", analyzer::text(holder.kind)},
                      {"text", holder.text},
                      {"root", text_or_null(holder.root)},
                      {"node", node_number(holder.node)},
                      {"tensor", tensor_id(holder.tensor)}});
    }
    return rows;
  }

  Json python_type(size_t tensor) const {
    if (!dump_.references.present || !dump_.references.tensors[tensor].known) return nullptr;
    return text_or_null(dump_.references.tensors[tensor].type_name);
  }

  Json python_id(size_t tensor) const {
    const uint64_t id = dump_.references.present ? dump_.references.tensors[tensor].id : 0;
    return id == 0 ? Json(nullptr) : Json(id);
  }

  static Json node_number(uint32_t node) { return node == analyzer::kNoNode ? Json(nullptr) : Json(node); }
  Json tensor_id(uint32_t tensor) const {
    return tensor == analyzer::kNone ? Json(nullptr) : Json(dump_.tensors[tensor].serial);
  }

  Json references() const {
    const analyzer::References& r = dump_.references;
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
            {"memory_taken", r.memory_taken}};
  }

  std::string graph_node(uint32_t number) const {
    const analyzer::Graph& graph = dump_.graph;
    const analyzer::GraphNode& n = graph.nodes[number];
    Json edges = Json::array(), saved = Json::array();
    for (const analyzer::GraphEdge& edge : graph.edges_of(number)) {
      edges.push_back({{"node", node_number(edge.node)}, {"input", edge.input}});
    }
    for (const analyzer::SavedSlot& slot : graph.saved_of(number)) {
      saved.push_back({{"slot", graph.slot_name(number, slot)},
                       {"tensor", tensor_id(slot.tensor)},
                       {"state", format::EnumNameSlotState(format::SlotState(slot.state))},
                       {"output", slot.output}});
    }
    const bool seen = n.seen != analyzer::kNone;
    const uint32_t site = seen ? dump_.nodes[n.seen].site : 0;
    return text_of({{"id", number},
                    {"address", n.address},
                    {"name", text_or_null(graph.class_name(number))},
                    {"node", seen ? Json(dump_.nodes[n.seen].serial) : Json(nullptr)},
                    {"sequence", n.sequence},
                    {"accumulates", (n.flags & uint8_t(format::GraphNodeFlag::accumulates)) != 0},
                    {"python", (n.flags & uint8_t(format::GraphNodeFlag::python)) != 0},
                    {"partial", (n.flags & uint8_t(format::GraphNodeFlag::partial)) != 0},
                    {"module_path", text_or_null(symbols_.module_path(dump_.sites[site]))},
                    {"site", site_id(site)},
                    {"edges", edges},
                    {"saved", saved}});
  }

  void write_graph() {
    const analyzer::Graph& graph = dump_.graph;
    if (!graph.present) {
      out_ << ",\n\"graph\":null";
      return;
    }
    Json head = {{"complete", graph.complete}, {"detail", text_or_null(graph.detail)}};
    std::string text = text_of(head);
    text.pop_back();
    out_ << ",\n\"graph\":" << text;
    rows("nodes", graph.nodes.size(), [&](size_t i) { return graph_node(uint32_t(i)); });
    out_ << "}";
  }

  Json storage(const analyzer::Storage& s) const {
    Json tensors = Json::array();
    for (uint32_t i : s.tensors) tensors.push_back(dump_.tensors[i].serial);
    return {
        {"id", s.id},
        {"data_ptr", s.data_ptr},
        {"nbytes", s.nbytes},
        {"own_nbytes", s.own_nbytes},
        {"device", s.device.text()},
        {"kind", analyzer::text(s.kind)},
        {"allocation", s.allocation == analyzer::kNone ? Json(nullptr) : Json(dump_.allocations[s.allocation].serial)},
        {"runtime_block",
         s.runtime_block == analyzer::kNone ? Json(nullptr) : Json(dump_.runtime_blocks[s.runtime_block].serial)},
        {"tensors", tensors}};
  }

  Json allocation(const analyzer::Allocation& a) const {
    Json storages = Json::array();
    for (uint32_t i : a.storages) storages.push_back(dump_.storages[i].id);
    return {{"id", a.serial},
            {"pointer", a.pointer},
            {"nbytes", a.nbytes},
            {"device", a.device.text()},
            {"kind", format::EnumNameAllocationKind(format::AllocationKind(a.kind))},
            {"node", number_or_null(a.node)},
            {"thread", tid(a.thread)},
            {"thread_name", thread_name(a.thread)},
            {"created_ns", a.created_ns},
            {"age_ns", age(a.created_ns)},
            {"inherited", a.inherited},
            {"storages", storages},
            {"site", site_id(a.site)}};
  }

  Json node(const analyzer::Node& n) const {
    return {{"id", n.serial},
            {"address", n.address},
            {"class", text_or_null(n.class_name)},
            {"name", text_or_null(analyzer::last_component(n.class_name))},
            {"alive", n.alive},
            {"thread", tid(n.thread)},
            {"created_ns", n.created_ns},
            {"site", site_id(n.site)}};
  }

  std::string site(uint32_t id) {
    const analyzer::Site& s = dump_.sites[id];
    Json row = {{"id", id},
                {"tensors_live", s.tensors_live},
                {"tensors_total", s.tensors_total},
                {"allocations_live", s.allocations_live},
                {"allocations_total", s.allocations_total},
                {"bytes_live", s.bytes_live},
                {"bytes_total", s.bytes_total},
                {"bytes_peak", s.bytes_peak},
                {"module_path", text_or_null(symbols_.module_path(s))},
                {"stack", id}};
    std::string text = text_of(row);
    text.back() = ',';
    text += "\"headline\":";
    append_frame(text, symbols_.headline(s));
    return text + "}";
  }

  // A site's frames as JSON text. Many tensors share a site, so texts are kept, but not without bound.
  const std::string& stack(uint32_t site) {
    constexpr size_t kMaxKept = size_t{64} << 20;
    auto [found, fresh] = stacks_.try_emplace(site);
    if (!fresh) return found->second;
    std::string text = "[";
    if (site != 0) {
      for (const analyzer::Frame& f : symbols_.shown(dump_.sites[site], options_.full_stacks)) {
        if (text.size() > 1) text += ',';
        append_frame(text, f);
      }
    }
    text += ']';
    kept_ += text.size();
    if (kept_ > kMaxKept) {
      kept_ = text.size();
      stacks_.clear();
      return stacks_[site] = std::move(text);
    }
    return found->second = std::move(text);
  }

  // By hand: there may be millions.
  void append_frame(std::string& out, const analyzer::Frame& f) {
    const bool native = f.language == analyzer::Frame::Language::native;
    out += native ? "{\"language\":\"native\",\"function\":" : "{\"language\":\"python\",\"function\":";
    out += quoted(f.function);
    out += ",\"file\":";
    out += quoted(f.file);
    out += ",\"line\":";
    out += f.line > 0 ? std::to_string(f.line) : "null";
    out += ",\"module\":";
    out += quoted(native ? f.object : f.module);
    if (native) {
      out += ",\"address\":" + std::to_string(f.address);
      out += f.inlined ? ",\"inlined\":true" : ",\"inlined\":false";
    }
    out += '}';
  }

  const std::string& quoted(const std::string& text) {
    auto [found, fresh] = quoted_.try_emplace(text);
    if (fresh) found->second = text_of(text_or_null(text));
    return found->second;
  }

  const Dump& dump_;
  analyzer::Symbols& symbols_;
  std::ostream& out_;
  const ExportOptions& options_;
  std::unordered_map<uint32_t, std::string> stacks_;  // by site
  size_t kept_ = 0;
  std::unordered_map<std::string, std::string> quoted_;
  std::unordered_map<uint64_t, uint64_t> by_address_;
};

}  // namespace

void export_json(const Dump& dump, analyzer::Symbols& symbols, std::ostream& out, const ExportOptions& options) {
  JsonExport(dump, symbols, out, options).write();
}

}  // namespace tensorscope::exports
