// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/allocations.h"

#include <algorithm>
#include <vector>

#include "dump/decode/decoding.h"
#include "dump/sort_by_serial.h"
#include "dump/sum_guard.h"
#include "dump/type_names.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

void decode_allocations(const format::AllocationRows& in, Decoding& state) {
  if (!in.values()) return;
  make_room(state.dump.allocations, in.values()->size());
  for (const format::Allocation* row : *in.values()) {
    uint64_t end = 0;
    if (row->serial() == 0 || row->kind() > format::AllocationKind::MAX ||
        __builtin_add_overflow(row->pointer(), std::max<uint64_t>(row->nbytes(), 1), &end)) {
      state.count("invalid allocations");
      continue;
    }
    state.dump.allocations.push_back({row->serial(), row->pointer(), row->nbytes(), row->created_ns(), row->node(),
                                      row->site(), row->thread(), uint8_t(row->kind()), row->inherited() != 0,
                                      device_of(row->device_type(), row->device_index())});
  }
}

void decode_nodes(const format::NodeRows& in, Decoding& state) {
  if (!in.values()) return;
  flatbuffers::uoffset_t number = 0;
  for (const format::Node* row : *in.values()) {
    const flatbuffers::uoffset_t at = number++;
    const uint32_t ran = in.ran() && at < in.ran()->size() ? in.ran()->Get(at) : 0;
    state.dump.nodes.push_back(
        {row->serial(), row->address(), row->created_ns(), "", row->site(), row->thread(), row->alive() != 0, ran});
    state.node_names.push_back(row->class_name());
  }
}

void finish_allocations_and_nodes(Decoding& state) {
  std::vector<uint32_t> order;
  if (size_t twice = sort_by_serial(state.dump.allocations, order)) state.count("allocations listed twice", twice);
  SumGuard bytes;
  for (Allocation& allocation : state.dump.allocations) {
    state.check_row(allocation.site, allocation.thread, allocation.created_ns);
    if (!bytes.admits(allocation.nbytes)) allocation.nbytes = 0, state.count("allocations of an impossible size");
  }
  if (size_t twice = sort_by_serial(state.dump.nodes, order)) state.count("autograd nodes listed twice", twice);
  for (size_t i = 0; i < order.size(); i++) {
    Node& node = state.dump.nodes[i];
    node.class_name = class_name_of(state.text(state.node_names[order[i]]));
    state.check_row(node.site, node.thread, node.created_ns);
    if (node.ran_site >= state.dump.sites.size()) node.ran_site = 0, state.count("references to missing sites");
  }
}

}  // namespace tensorscope::analyzer
