// SPDX-License-Identifier: Apache-2.0
#include "dump/memory_chunk.h"

#include <vector>

#include "dump/chunk.h"

namespace tensorscope::dump {

bool write_process_memory(const python::PythonHeap& heap, const Mappings& mappings, const SharedFiles& shared,
                          DumpFile& file) {
  Chunk chunk(format::kProcessMemory);
  std::vector<flatbuffers::Offset<format::Mapping>> rows;
  for (const Mapping& row : mappings.rows) {
    const auto name = chunk.string(row.name);
    rows.push_back(format::CreateMapping(chunk.builder(), name, row.kind, row.count, row.resident, row.private_bytes,
                                         row.anonymous));
  }
  std::vector<flatbuffers::Offset<format::SharedHolder>> holders;
  for (size_t i = 0; i < shared.count; ++i) {
    const SharedHolder& holder = shared.holders[i];
    const auto name = chunk.string(holder.name);
    holders.push_back(
        format::CreateSharedHolder(chunk.builder(), holder.pid, name, holder.files, holder.bytes, holder.deleted));
  }
  const auto heap_detail = chunk.string(heap.detail), mappings_detail = chunk.string(mappings.detail);
  const auto shared_detail = chunk.string(shared.detail);
  const auto values = chunk.builder().CreateVector(rows);
  const auto shared_values = chunk.builder().CreateVector(holders);
  return chunk.append_to(
      file, format::CreateProcessMemory(chunk.builder(), heap.arenas, heap.in_use, heap_detail, values, mappings_detail,
                                        shared.space.limit, shared.space.left, shared_values, shared_detail));
}

}  // namespace tensorscope::dump
