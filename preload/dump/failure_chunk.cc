// SPDX-License-Identifier: Apache-2.0
#include "dump/failure_chunk.h"

#include "dump/chunk.h"

namespace tensorscope::dump {

bool write_failure_chunk(const Failure& failure, DumpFile& file) {
  Chunk chunk(format::kFailure, 256);
  const auto error = chunk.string(failure.error);
  format::FailureBuilder row(chunk.builder());
  row.add_kind(format::FailureKind(failure.kind));
  row.add_limit(format::MemoryLimit(failure.limit));
  row.add_device_type(failure.device.type);
  row.add_device_index(failure.device.index);
  row.add_requested(failure.requested);
  row.add_allocator_allocated(failure.allocator_allocated);
  row.add_allocator_reserved(failure.allocator_reserved);
  row.add_limit_bytes(failure.limit_bytes);
  row.add_left_bytes(failure.left_bytes);
  row.add_error(error);
  row.add_site(failure.site);
  row.add_thread(failure.thread);
  row.add_node(failure.node);
  row.add_failed_ns(failure.failed_ns);
  row.add_failures(failure.failures);
  row.add_without_dump(failure.without_dump);
  return chunk.append_to(file, row.Finish());
}

}  // namespace tensorscope::dump
