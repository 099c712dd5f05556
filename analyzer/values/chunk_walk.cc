// SPDX-License-Identifier: Apache-2.0
#include "values/chunk_walk.h"

#include <algorithm>

#include "dump/chunk_reader.h"
#include "dump/reader.h"

namespace tensorscope::values {

namespace {

std::string chunk_letters(uint32_t type) {
  std::string letters;
  for (int shift = 0; shift < 32; shift += 8) {
    const char c = char(type >> shift);
    letters += c > ' ' && c < 127 ? c : '?';
  }
  return letters;
}

}  // namespace

bool ChunkWalk::go_on(const TakeChunk& take) {
  const uint32_t before = chunks_;
  source_->refresh_size();
  while (!closed_ && !is_damaged() && take_chunk(take)) {
  }
  if (closed_ && end_ < source_->size() && !is_damaged()) {
    set_damage(analyzer::with_commas(source_->size() - end_) + " bytes follow after its end; they were not read");
  }
  return chunks_ != before;
}

bool ChunkWalk::set_damage(const std::string& what) {
  damage_ = name_ + " is damaged at byte " + analyzer::with_commas(end_) + ": " + what + ".";
  return false;
}

// False: there is no further whole chunk.
bool ChunkWalk::take_chunk(const TakeChunk& take) {
  const uint64_t left = source_->size() > end_ ? source_->size() - end_ : 0;
  ChunkPlace place{end_, {}};
  format::ChunkHeader& header = place.header;
  if (left < sizeof header || source_->read(end_, &header, sizeof header) < sizeof header) return false;
  if (header.reserved != 0 || header.length > format::kMaxChunkBytes) {
    return set_damage("the header of a chunk is invalid; what came before is shown");
  }
  const uint64_t size = sizeof header + header.length + format::padding(header.length);
  if (size > left) return false;
  Payload payload;
  if (header.type != format::kValueData && !read_payload(place, payload)) {
    return set_damage("the checksum of its '" + chunk_letters(header.type) +
                      "' chunk does not match; what came before is shown");
  }
  if (!take(place, payload)) {
    return set_damage("its '" + chunk_letters(header.type) + "' chunk is malformed; what came before is shown");
  }
  ++chunks_;
  end_ += size;
  return true;
}

// False: it cannot be read, or its checksum is wrong.
bool ChunkWalk::read_payload(const ChunkPlace& place, Payload& out) const {
  const format::ChunkHeader& header = place.header;
  out.assign(size_t(header.length / 8 + 1), 0);
  const size_t padded = size_t(header.length) + format::padding(header.length);
  if (source_->read(place.payload(), out.data(), padded) != padded) return false;
  const char* bytes = reinterpret_cast<const char*>(out.data());
  if (std::any_of(bytes + header.length, bytes + padded, [](char c) { return c != 0; })) return false;
  return format::chunk_checksum(header, out.data()) == header.checksum;
}

std::shared_ptr<const Payload> ChunkWalk::payload(const ChunkPlace& place) const {
  if (last_payload_ && last_offset_ == place.offset) return last_payload_;
  auto payload = std::make_shared<Payload>();
  if (!read_payload(place, *payload)) throw analyzer::BadInput(name_ + " was changed while it was read.");
  last_offset_ = place.offset;
  return last_payload_ = std::move(payload);
}

}  // namespace tensorscope::values
