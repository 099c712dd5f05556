// What the files of RowCollector that take chunks share: only they include it.
#pragma once

#include "dump_generated.h"
#include "model/row_collector.h"

namespace tensorscope::model {

template <typename Root>
const Root* RowCollector::verified(const ChunkView& chunk) {
  flatbuffers::Verifier verifier(chunk.payload, chunk.length);
  if (chunk.length < FLATBUFFERS_MAX_BUFFER_SIZE && verifier.VerifySizePrefixedBuffer<Root>(nullptr)) {
    seen_.insert(chunk.type);
    return flatbuffers::GetSizePrefixedRoot<Root>(chunk.payload);
  }
  dump_.problems.push_back("the '" + chunk_name(chunk.type) + "' chunk at byte " + with_commas(chunk.offset) + " of " +
                           name_ + " is not well formed; it was left out.");
  return nullptr;
}

}  // namespace tensorscope::model
