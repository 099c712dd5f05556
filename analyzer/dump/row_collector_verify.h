// What the files of RowCollector that take chunks share: only they include it.
#pragma once

#include "dump/chunk_root.h"
#include "dump/row_collector.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

template <typename Root>
const Root* RowCollector::verified(const ChunkView& chunk) {
  if (const Root* root = chunk_root<Root>(chunk)) {
    seen_.insert(chunk.type);
    return root;
  }
  dump_.problems.push_back(malformed_chunk(chunk, name_));
  return nullptr;
}

template <typename Row>
size_t size_of(const flatbuffers::Vector<const Row*>* rows) {
  return rows ? rows->size() : 0;
}

// The texts of a chunk that has a table of its own.
class OwnTexts {
 public:
  explicit OwnTexts(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) : texts_(texts) {}
  bool has(uint32_t index) const { return texts_ && index < texts_->size(); }
  std::string_view operator[](uint32_t index) const { return texts_->Get(index)->string_view(); }

 private:
  const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts_;
};

}  // namespace tensorscope::analyzer
