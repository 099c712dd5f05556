// SPDX-License-Identifier: Apache-2.0
#include "dump/decode/failure_row.h"

#include <algorithm>

#include "dump/decode/flatbuffer_texts.h"
#include "dump/sort_by_serial.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

void decode_failure(const format::Failure& in, Decoding& state) {
  Failure& out = state.dump.failure.emplace();
  if (in.kind() <= format::FailureKind::MAX) out.kind = uint8_t(in.kind());
  if (in.limit() <= format::MemoryLimit::MAX) out.limit = uint8_t(in.limit());
  out.device = device_of(in.device_type(), in.device_index());
  out.requested = in.requested();
  out.allocator_allocated = in.allocator_allocated();
  out.allocator_reserved = in.allocator_reserved();
  out.limit_bytes = in.limit_bytes();
  out.left_bytes = in.left_bytes();
  if (out.limit_bytes != 0 && out.left_bytes > out.limit_bytes) {
    state.count("limits with more left than there is");
    out.limit_bytes = out.left_bytes = 0;
  }
  out.error = charged(in.error(), state);
  out.site = in.site();
  out.thread = in.thread();
  out.node_serial = in.node();
  out.failed_ns = in.failed_ns();
  out.failures = in.failures();
  out.without_dump = std::min(in.without_dump(), in.failures());
}

void finish_failure(Decoding& state) {
  if (!state.dump.failure) return;
  Failure& failure = *state.dump.failure;
  state.check_row(failure.site, failure.thread, failure.failed_ns);
  failure.node = failure.node_serial == 0 ? kNone : row_with(state.dump.nodes, failure.node_serial);
}

}  // namespace tensorscope::analyzer
