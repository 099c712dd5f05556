// SPDX-License-Identifier: Apache-2.0
#include "values/element_chunks.h"

#include <algorithm>

#include "dump/chunk_reader.h"
#include "dump/reader.h"

namespace tensorscope::values {

namespace {

// Follows the one field of the chunk's table by positions in the file, so that elements that nobody asked for are not
// read: each is within the payload.
bool find_elements(const analyzer::ByteSource& source, const ChunkPlace& place, uint64_t& elements, uint64_t& size) {
  const uint64_t length = place.header.length, base = place.payload();
  const auto number = [&](uint64_t at, auto& out) {
    return at <= length && length - at >= sizeof out && source.read(base + at, &out, sizeof out) == sizeof out;
  };
  uint32_t prefix = 0, root = 0, vector = 0, count = 0;
  int32_t back = 0;
  uint16_t table_bytes = 0, field = 0;
  if (!number(0, prefix) || prefix != length - sizeof prefix || !number(4, root)) return false;
  const uint64_t table = 4 + uint64_t{root};
  if (!number(table, back) || int64_t(table) < back) return false;
  const uint64_t fields = uint64_t(int64_t(table) - back);
  if (!number(fields, table_bytes)) return false;
  if (table_bytes >= 6 && !number(fields + 4, field)) return false;
  if (field != 0) {
    if (!number(table + field, vector)) return false;
    const uint64_t begin = table + field + vector;
    if (!number(begin, count) || count > length - begin - sizeof count) return false;
    elements = base + begin + sizeof count;
  }
  size = count;
  return true;
}

}  // namespace

void ElementChunks::check(const analyzer::ByteSource& source, const std::string& name, Chunk& chunk) const {
  if (chunk.checked) return;
  const format::ChunkHeader& header = chunk.place.header;
  const uint64_t begin = chunk.place.payload();
  uint64_t zeros = 0;
  const size_t padding = format::padding(header.length);
  const bool sound = analyzer::checksum_in_file(source, begin, header) == header.checksum &&
                     source.read(begin + header.length, &zeros, padding) == padding && zeros == 0;
  if (!sound || !find_elements(source, chunk.place, chunk.begin, chunk.size)) {
    throw analyzer::BadInput(
        "the elements at byte " + analyzer::with_commas(chunk.place.offset) + " of " + name +
        " are damaged: " + (sound ? "their chunk is malformed." : "their checksum does not match."));
  }
  chunk.checked = true;
}

std::string ElementChunks::read(const analyzer::ByteSource& source, const std::string& name, const Range& range) {
  std::string out;
  uint64_t passed = 0;  // elements' bytes in the chunks before
  for (size_t i = range.first_chunk; i < range.end_chunk && out.size() < range.size; ++i) {
    Chunk& chunk = chunks_[i];
    check(source, name, chunk);
    const uint64_t from = std::max(passed, range.begin), to = std::min(passed + chunk.size, range.begin + range.size);
    if (from < to) {
      const size_t before = out.size();
      out.resize(before + size_t(to - from));
      const size_t got = source.read(chunk.begin + (from - passed), out.data() + before, size_t(to - from));
      if (got != to - from) throw analyzer::BadInput(name + " was changed while it was read.");
    }
    passed += chunk.size;
  }
  return out;
}

}  // namespace tensorscope::values
