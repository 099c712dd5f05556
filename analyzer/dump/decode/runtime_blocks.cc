// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/runtime_blocks.h"

#include <algorithm>
#include <vector>

#include "dump/decode/decoding.h"
#include "dump/sort_by_serial.h"
#include "dump/sum_guard.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

namespace {

bool on_host(format::RuntimeKind kind, int8_t device_index) {
  return device_index < 0 || kind == format::RuntimeKind::pinned || kind == format::RuntimeKind::registered;
}

}  // namespace

void decode_runtime_blocks(const format::RuntimeBlocks& in, Decoding& state) {
  if (!in.values()) return;
  for (const format::RuntimeBlock* row : *in.values()) {
    uint64_t end = 0;
    if (row->serial() == 0 || row->kind() > format::RuntimeKind::MAX ||
        __builtin_add_overflow(row->pointer(), std::max<uint64_t>(row->nbytes(), 1), &end)) {
      state.count("invalid blocks of the CUDA runtime");
      continue;
    }
    const Device device =
        on_host(row->kind(), row->device_index()) ? kHost : device_of(row->device_type(), row->device_index());
    state.dump.runtime_blocks.push_back({row->serial(),
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

void finish_runtime_blocks(Decoding& state) {
  std::vector<uint32_t> order;
  if (size_t twice = sort_by_serial(state.dump.runtime_blocks, order))
    state.count("blocks of the CUDA runtime listed twice", twice);
  SumGuard bytes;
  for (RuntimeBlock& block : state.dump.runtime_blocks) {
    state.check_row(block.site, block.thread, block.created_ns);
    if (!bytes.admits(block.nbytes)) block.nbytes = 0, state.count("blocks of the CUDA runtime of an impossible size");
  }
}

}  // namespace tensorscope::analyzer
