// What the files of RowCollector that take chunks share: only they include it.
#pragma once

#include "dump/row_collector.h"
#include "dump_generated.h"

namespace tensorscope::analyzer {

template <typename Root>
const Root* RowCollector::verified(const ChunkView& chunk) {
  flatbuffers::Verifier verifier(chunk.payload, chunk.length);
  if (chunk.length < FLATBUFFERS_MAX_BUFFER_SIZE && verifier.VerifySizePrefixedBuffer<Root>(nullptr)) {
    seen_.insert(chunk.type);
    return flatbuffers::GetSizePrefixedRoot<Root>(chunk.payload);
  }
  dump_.problems.push_back("the '" + chunk_name(chunk.type) + "' chunk at byte " + with_commas(chunk.offset) + " of " +
                           name_ + " is malformed; it was skipped.");
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
