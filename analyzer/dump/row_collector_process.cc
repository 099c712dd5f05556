// The part of RowCollector that reads what the process's memory is, and its steps.
#include <algorithm>
#include <functional>

#include "dump/row_collector_verify.h"
#include "dump/sum_guard.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

void RowCollector::add_shared_memory(const format::ProcessMemory& in, ProcessParts& out) {
  if (in.shared_detail()) out.shared_detail = charged(in.shared_detail()->string_view());
  if (in.shared_left() > in.shared_total()) return count("invalid sizes of shared memory");
  out.shared_total = in.shared_total();
  out.shared_left = in.shared_left();
  if (!in.shared_holders()) return;
  SumGuard guard;
  for (const format::SharedHolder* row : *in.shared_holders()) {
    if (row->deleted() > row->bytes() || !guard.admits(row->bytes())) {
      count("invalid holders of shared memory");
      continue;
    }
    out.shared_holders.push_back({row->pid(), row->name() ? charged(row->name()->string_view()) : "", row->files(),
                                  row->bytes(), row->deleted()});
  }
}

void RowCollector::add_process_parts(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::ProcessMemory>(chunk);
  if (!in) return;
  ProcessParts& out = dump_.process_parts;
  out.present = true;
  if (in->python_detail()) out.python_detail = charged(in->python_detail()->string_view());
  if (in->mappings_detail()) out.mappings_detail = charged(in->mappings_detail()->string_view());
  SumGuard guard;
  if (in->python_in_use() <= in->python_arenas() && guard.admits(in->python_arenas())) {
    out.python_arenas = in->python_arenas();
    out.python_in_use = in->python_in_use();
  } else {
    count("invalid sizes of Python's heap");
  }
  add_shared_memory(*in, out);
  if (!in->mappings()) return;
  for (const format::Mapping* row : *in->mappings()) {
    if (row->kind() > format::MappingKind::MAX || row->anonymous() > row->resident() ||
        row->private_bytes() > row->resident() || !guard.admits(row->resident())) {
      count("invalid mappings");
      continue;
    }
    out.mappings.push_back({row->name() ? charged(row->name()->string_view()) : "", uint8_t(row->kind()), row->count(),
                            row->resident(), row->private_bytes(), row->anonymous(),
                            row->kind() == format::MappingKind::file});
  }
  const auto larger = [](const Mapping& a, const Mapping& b) { return a.resident > b.resident; };
  std::stable_sort(out.mappings.begin(), out.mappings.end(), larger);
}

void RowCollector::add_steps(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::Steps>(chunk);
  if (!in || !in->ends()) return;
  Steps steps{
      uint8_t(in->source()), in->count(), std::max<uint64_t>(in->every(), 1), {in->ends()->begin(), in->ends()->end()}};
  const bool ascending =
      std::adjacent_find(steps.ends.begin(), steps.ends.end(), std::greater_equal<>()) == steps.ends.end();
  if (in->source() > format::StepSource::MAX || in->source() == format::StepSource::none || !ascending ||
      steps.count < steps.ends.size()) {
    return count("invalid lists of steps");
  }
  dump_.steps = std::move(steps);
}

void RowCollector::add_process_groups(const ChunkView& chunk) {
  if (!first_of_its_kind(chunk)) return;
  const auto* in = verified<format::ProcessGroups>(chunk);
  if (!in || !in->groups()) return;
  for (const format::ProcessGroup* row : *in->groups()) {
    ProcessGroup group;
    if (row->name()) group.name = charged(row->name()->string_view());
    if (row->mesh_dimension()) group.mesh_dimension = charged(row->mesh_dimension()->string_view());
    if (row->ranks()) group.ranks.assign(row->ranks()->begin(), row->ranks()->end());
    const auto negative = [](int32_t rank) { return rank < 0; };
    if (std::any_of(group.ranks.begin(), group.ranks.end(), negative)) {
      count("invalid process groups");
    } else {
      dump_.process_groups.push_back(std::move(group));
    }
  }
}

}  // namespace tensorscope::analyzer
