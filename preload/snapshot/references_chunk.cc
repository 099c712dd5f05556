#include "snapshot/references_chunk.h"

#include <vector>

#include "snapshot/chunk.h"

namespace tensorscope::snapshot {

bool write_references(const python::References& references, DumpFile& file) {
  Chunk chunk(dump::kReferences, size_t{64} << 10);
  flatbuffers::FlatBufferBuilder& builder = chunk.builder();
  std::vector<flatbuffers::Offset<flatbuffers::String>> values;
  for (const std::string& value : references.strings.values()) values.push_back(chunk.string(value));
  const auto detail = chunk.string(references.detail);
  const auto strings = builder.CreateVector(values);
  const auto rows = builder.CreateVectorOfStructs(references.references);
  const auto tensors = builder.CreateVectorOfStructs(references.tensors);
  const auto slots = builder.CreateVectorOfStructs(references.slots);
  const auto nodes = builder.CreateVectorOfStructs(references.nodes);
  return chunk.append_to(file, dump::CreateReferences(builder, references.complete, detail, strings, rows, tensors,
                                                      slots, nodes, references.objects, references.gil_ns));
}

}  // namespace tensorscope::snapshot
