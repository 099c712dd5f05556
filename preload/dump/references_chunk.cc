// SPDX-License-Identifier: Apache-2.0
#include "dump/references_chunk.h"

#include <vector>

#include "dump/chunk.h"

namespace tensorscope::dump {

namespace {

// Of the whole chunk, so that it need not grow, which takes twice the memory.
size_t expected_bytes(const python::References& references) {
  constexpr size_t kStringBytes = 16;  // length, zero, alignment and the place in the table
  constexpr size_t kRest = size_t{16} << 10;
  const size_t places = references.call_of.size() + references.begins_at.size() + references.node_call_of.size() +
                        references.node_begins_at.size() + references.shared_of.size();
  return references.strings.bytes() + references.strings.size() * kStringBytes +
         references.references.size() * sizeof(format::Reference) +
         references.tensors.size() * sizeof(format::TensorObject) + references.slots.size() * sizeof(format::SlotName) +
         references.nodes.size() * sizeof(format::NodeReference) +
         references.within.size() * sizeof(format::TensorWithin) +
         references.calls.size() * sizeof(format::RunningCall) +
         references.containers.size() * sizeof(format::Container) +
         references.shared.size() * sizeof(format::SharedEntry) +
         references.other_ways.size() * sizeof(format::OtherWay) +
         references.profilers.size() * sizeof(format::NamedObject) + places * sizeof(uint32_t) +
         (references.ids.size() + references.freed.size() + references.beginnings.size()) * sizeof(uint64_t) + kRest;
}

size_t without_zeros_at_end(const PageArray<uint32_t>& values) {
  size_t count = values.size();
  while (count > 0 && values[count - 1] == 0) --count;
  return count;
}

auto places(flatbuffers::FlatBufferBuilder& builder, const PageArray<uint32_t>& values) {
  return builder.CreateVector(values.data(), without_zeros_at_end(values));
}

}  // namespace

bool write_references(const python::References& references, DumpFile& file) {
  Chunk chunk(format::kReferences, expected_bytes(references));
  flatbuffers::FlatBufferBuilder& builder = chunk.builder();
  std::vector<flatbuffers::Offset<flatbuffers::String>> values;
  values.reserve(references.strings.size());
  for (uint32_t i = 0; i < references.strings.size(); ++i) values.push_back(chunk.string(references.strings[i].data()));
  const auto detail = chunk.string(references.detail);
  const auto strings = builder.CreateVector(values);
  const auto rows = builder.CreateVectorOfStructs(references.references.data(), references.references.size());
  const auto tensors = builder.CreateVectorOfStructs(references.tensors.data(), references.tensors.size());
  const auto slots = builder.CreateVectorOfStructs(references.slots);
  const auto nodes = builder.CreateVectorOfStructs(references.nodes.data(), references.nodes.size());
  const auto within = builder.CreateVectorOfStructs(references.within.data(), references.within.size());
  const auto ids = builder.CreateVector(references.ids.data(), references.ids.size());
  const auto calls = builder.CreateVectorOfStructs(references.calls);
  const auto call_of = places(builder, references.call_of);
  const auto beginnings = builder.CreateVector(references.beginnings.data(), references.beginnings.size());
  const auto begins_at = places(builder, references.begins_at);
  const auto node_call_of = places(builder, references.node_call_of);
  const auto node_begins_at = places(builder, references.node_begins_at);
  const auto containers = builder.CreateVectorOfStructs(references.containers);
  const auto containers_detail = references.containers_detail ? chunk.string(references.containers_detail) : 0;
  const auto shared_of = places(builder, references.shared_of);
  const auto shared = builder.CreateVectorOfStructs(references.shared.data(), references.shared.size());
  const auto other_ways = builder.CreateVectorOfStructs(references.other_ways.data(), references.other_ways.size());
  const auto profilers = builder.CreateVectorOfStructs(references.profilers);
  const auto freed = builder.CreateVector(references.freed.data(), references.freed.size());
  return chunk.append_to(
      file, format::CreateReferences(builder, references.complete, detail, strings, rows, tensors, slots, nodes,
                                     references.objects, references.gil_ns, references.stopped_by,
                                     references.time_limit_ms, references.memory_limit, references.memory_taken, ids,
                                     freed, within, calls, call_of, beginnings, begins_at, node_call_of, node_begins_at,
                                     containers, containers_detail, shared_of, shared, other_ways, profilers));
}

}  // namespace tensorscope::dump
