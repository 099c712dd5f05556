// SPDX-License-Identifier: Apache-2.0
#include "dump/groups_chunk.h"

#include <vector>

#include "dump/chunk.h"

namespace tensorscope::dump {

bool write_process_groups(const python::ProcessGroups& groups, DumpFile& file) {
  if (!groups.imported || (groups.groups.empty() && groups.complete)) return true;
  Chunk chunk(format::kProcessGroups);
  std::vector<flatbuffers::Offset<format::ProcessGroup>> rows;
  for (const python::ProcessGroup& group : groups.groups) {
    const auto name = chunk.string(group.name), dimension = chunk.string(group.mesh_dimension);
    const auto ranks = chunk.builder().CreateVector(group.ranks);
    rows.push_back(format::CreateProcessGroup(chunk.builder(), name, dimension, ranks));
  }
  const auto detail = chunk.string(groups.detail);
  const auto values = chunk.builder().CreateVector(rows);
  return chunk.append_to(file, format::CreateProcessGroups(chunk.builder(), groups.complete, detail, values));
}

}  // namespace tensorscope::dump
