// SPDX-License-Identifier: Apache-2.0
// Goes through the chunks of a values file that may still grow, be cut off or damaged: everything up to the first chunk
// that is damaged or not whole counts, nothing behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dump/byte_source.h"
#include "tensorscope/values_format.h"
#include "values/element_chunks.h"

namespace tensorscope::values {

using Payload = std::vector<uint64_t>;  // aligned as FlatBuffers wants it

class ChunkWalk {
 public:
  // False: the chunk is malformed. Payloads of elements are not read.
  using TakeChunk = std::function<bool(const ChunkPlace&, const Payload&)>;

  ChunkWalk(std::unique_ptr<analyzer::ByteSource> source, const std::string& name)
      : source_(std::move(source)), name_(name) {}

  // Hands on each chunk that is whole by now and was not yet. True where there were any.
  bool go_on(const TakeChunk& take);
  // The chunk that is being taken is the last.
  void close() { closed_ = true; }

  const analyzer::ByteSource& source() const { return *source_; }
  bool closed() const { return closed_; }
  uint32_t chunks() const { return chunks_; }  // taken so far
  // Bytes of a last chunk that is not whole.
  uint64_t torn_bytes() const { return closed_ || is_damaged() ? 0 : source_->size() - end_; }
  // A sentence; "" if the file is not damaged as far as it was read.
  const std::string& damage() const { return damage_; }
  // Of a chunk that was taken before. Throws analyzer::BadInput if the file was changed since then.
  std::shared_ptr<const Payload> payload(const ChunkPlace& place) const;

 private:
  bool is_damaged() const { return !damage_.empty(); }
  bool take_chunk(const TakeChunk& take);
  bool set_damage(const std::string& what);
  bool read_payload(const ChunkPlace& place, Payload& out) const;

  std::unique_ptr<analyzer::ByteSource> source_;
  const std::string name_;
  uint64_t end_ = sizeof(format::FileHeader);  // of the last whole chunk
  uint32_t chunks_ = 0;
  bool closed_ = false;
  std::string damage_;
  // The chunk that was read last: values that share elements are often of one chunk.
  mutable uint64_t last_offset_ = 0;
  mutable std::shared_ptr<const Payload> last_payload_;
};

}  // namespace tensorscope::values
