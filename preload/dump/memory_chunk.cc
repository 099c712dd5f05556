#include "dump/memory_chunk.h"

#include <vector>

#include "dump/chunk.h"

namespace tensorscope::dump {

bool write_process_memory(const python::PythonHeap& heap, const Mappings& mappings, DumpFile& file) {
  Chunk chunk(format::kProcessMemory);
  std::vector<flatbuffers::Offset<format::Mapping>> rows;
  for (const Mapping& row : mappings.rows) {
    const auto name = chunk.string(row.name);
    rows.push_back(format::CreateMapping(chunk.builder(), name, row.kind, row.count, row.resident, row.private_bytes,
                                         row.anonymous));
  }
  const auto heap_detail = chunk.string(heap.detail), mappings_detail = chunk.string(mappings.detail);
  const auto values = chunk.builder().CreateVector(rows);
  return chunk.append_to(file, format::CreateProcessMemory(chunk.builder(), heap.arenas, heap.in_use, heap_detail,
                                                           values, mappings_detail));
}

}  // namespace tensorscope::dump
