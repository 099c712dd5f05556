// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/process_memory.h"

#include <algorithm>

#include "dump/decode/flatbuffer_texts.h"
#include "dump/sum_guard.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

void add_shared_memory(const format::ProcessMemory& in, ProcessParts& out, Decoding& state) {
  out.shared_detail = charged(in.shared_detail(), state);
  if (in.shared_left() > in.shared_total()) return state.count("invalid sizes of shared memory");
  out.shared_total = in.shared_total();
  out.shared_left = in.shared_left();
  if (!in.shared_holders()) return;
  SumGuard guard;
  for (const format::SharedHolder* row : *in.shared_holders()) {
    if (row->deleted() > row->bytes() || !guard.admits(row->bytes())) {
      state.count("invalid holders of shared memory");
      continue;
    }
    out.shared_holders.push_back({row->pid(), charged(row->name(), state), row->files(), row->bytes(), row->deleted()});
  }
}

}  // namespace

void decode_totals(const format::Totals& in, Decoding& state) {
  Totals& out = state.dump.totals;
  if (in.devices()) {
    for (const format::DeviceTotal* row : *in.devices()) {
      out.devices.push_back({device_of(row->device_type(), row->device_index()), row->live_bytes(), row->peak_bytes(),
                             row->live_count(), row->total_count(), row->total_bytes(), row->allocator_allocated(),
                             row->allocator_reserved(), row->allocator_reserved_peak()});
    }
  }
  out.tensors_live = in.tensors_live();
  out.tensors_total = in.tensors_total();
  out.resident_bytes = in.resident_bytes();
  out.resident_peak_bytes = in.resident_peak_bytes();
  out.cgroup_current = in.cgroup_current();
  out.cgroup_limit = in.cgroup_limit();
  out.machine_total = in.machine_total();
  out.machine_available = in.machine_available();
  out.profiler_bytes = in.profiler_bytes();
  out.stopped_ns = in.stopped_ns();
  out.phase1_ns = in.phase1_ns();
  out.heap_in_use = in.heap_in_use();
  out.heap_free = in.heap_free();
  out.children_known = in.children_known();
  out.children = in.children();
  out.children_resident_bytes = in.children_resident_bytes();
  out.children_private_bytes = in.children_private_bytes();
  out.anonymous_bytes = in.anonymous_bytes();
  out.file_bytes = in.file_bytes();
  out.shared_bytes = in.shared_bytes();
}

void decode_process_memory(const format::ProcessMemory& in, Decoding& state) {
  ProcessParts& out = state.dump.process_parts;
  out.present = true;
  out.python_detail = charged(in.python_detail(), state);
  out.mappings_detail = charged(in.mappings_detail(), state);
  SumGuard guard;
  if (in.python_in_use() <= in.python_arenas() && guard.admits(in.python_arenas())) {
    out.python_arenas = in.python_arenas();
    out.python_in_use = in.python_in_use();
  } else {
    state.count("invalid sizes of Python's heap");
  }
  add_shared_memory(in, out, state);
  if (!in.mappings()) return;
  for (const format::Mapping* row : *in.mappings()) {
    if (row->kind() > format::MappingKind::MAX || row->anonymous() > row->resident() ||
        row->private_bytes() > row->resident() || !guard.admits(row->resident())) {
      state.count("invalid mappings");
      continue;
    }
    out.mappings.push_back({charged(row->name(), state), uint8_t(row->kind()), row->count(), row->resident(),
                            row->private_bytes(), row->anonymous(), row->kind() == format::MappingKind::file});
  }
  const auto larger = [](const Mapping& a, const Mapping& b) { return a.resident > b.resident; };
  std::stable_sort(out.mappings.begin(), out.mappings.end(), larger);
}

}  // namespace tensorscope::analyzer
