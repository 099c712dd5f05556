#include "model/chunk_reader.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "model/reader.h"
#include "tensorscope/dump_format.h"

namespace tensorscope::model {

namespace {

constexpr size_t kPiece = size_t{1} << 18;

void check_file_header(const ByteSource& source, const std::string& name) {
  dump::FileHeader header{};
  size_t got = source.read(0, &header, sizeof header);
  if (got == 0) throw BadInput(name + " is empty; nothing was written into it.");
  size_t magic = std::min(got, sizeof dump::kMagic);
  if (std::memcmp(header.magic, dump::kMagic, magic) != 0) throw BadInput(name + " is not a tensorscope dump.");
  if (got < sizeof header) {
    throw BadInput(name + " is cut off at byte " + with_commas(got) +
                   ", in the file header; there is nothing in it to show.");
  }
  if (header.checksum != dump::header_checksum(header)) {
    throw BadInput(name + " is damaged: the checksum of its file header does not match.");
  }
  if (header.major > dump::kFormatMajor) {
    throw BadInput(name + " is a dump of format " + std::to_string(header.major) + "." + std::to_string(header.minor) +
                   "; this tensorscope reads up to " + std::to_string(dump::kFormatMajor) +
                   ".x. Read it with the version that wrote it, or a newer one.");
  }
  if (header.major == 0) throw BadInput(name + " is a dump of format 0, which no tensorscope wrote.");
}

uint64_t checksum_in_file(const ByteSource& source, uint64_t offset, const dump::ChunkHeader& header) {
  XXH3_state_t state{};
  XXH3_64bits_reset_withSeed(&state, XXH3_64bits(&header, 16));
  std::vector<char> piece(size_t(std::min<uint64_t>(header.length, kPiece)));
  for (uint64_t done = 0; done < header.length;) {
    size_t got = source.read(offset + done, piece.data(), size_t(std::min<uint64_t>(kPiece, header.length - done)));
    if (got == 0) break;
    XXH3_64bits_update(&state, piece.data(), got);
    done += got;
  }
  return XXH3_64bits_digest(&state);
}

}  // namespace

std::string chunk_name(uint32_t type) {
  for (const dump::ChunkKind& known : dump::kChunkKinds) {
    if (known.type == type) return known.name;
  }
  std::string letters;
  for (int shift = 0; shift < 32; shift += 8) {
    char c = char(type >> shift);
    letters += isgraph(static_cast<unsigned char>(c)) ? c : '?';
  }
  return "unknown (" + letters + ")";
}

std::string with_commas(uint64_t number) {
  std::string out = std::to_string(number);
  for (size_t i = out.size(); i > 3; i -= 3) out.insert(i - 3, ",");
  return out;
}

std::vector<std::string> walk_chunks(const ByteSource& source, const std::string& name,
                                     const std::function<bool(const ChunkView&)>& take) {
  check_file_header(source, name);
  std::vector<std::string> problems;
  auto problem = [&](const std::string& text) { problems.push_back(text); };
  const uint64_t size = source.size();
  std::vector<uint64_t> payload;  // 8-byte aligned
  uint32_t chunks = 0;
  bool last_was_damaged = false;
  std::string last_name = "file header";

  for (uint64_t offset = sizeof(dump::FileHeader);;) {
    if (offset == size) {
      problem(name + " is cut off after the " + (chunks ? "'" + last_name + "' chunk" : last_name) +
              "; what came before is shown.");
      return problems;
    }
    dump::ChunkHeader header{};
    if (size - offset < sizeof header || source.read(offset, &header, sizeof header) < sizeof header) {
      problem(name + " is cut off at byte " + with_commas(size) +
              ", in the header of a chunk; what came before is shown.");
      return problems;
    }
    const std::string here = chunk_name(header.type);
    const uint64_t begin = offset + sizeof header, left = size - begin;
    if (header.reserved != 0 || header.length > dump::kMaxChunkBytes) {
      problem(name + " is damaged at byte " + with_commas(offset) +
              ", in the header of a chunk; what came before is shown.");
      return problems;
    }
    if (header.length > left) {
      problem(name + " is cut off at byte " + with_commas(left) + " of the '" + here +
              "' chunk; what came before is shown.");
      return problems;
    }
    bool sound = checksum_in_file(source, begin, header) == header.checksum;
    if (sound) {
      payload.assign(size_t(header.length / 8 + 1), 0);
      sound = source.read(begin, payload.data(), size_t(header.length)) == header.length &&
              dump::chunk_checksum(header, payload.data()) == header.checksum;
    }
    if (!sound) {
      problem("the '" + here + "' chunk at byte " + with_commas(offset) + " of " + name +
              " is damaged: its checksum does not match. " +
              (last_was_damaged ? "Nothing after it was read." : "It was left out."));
      if (last_was_damaged) return problems;
    }
    last_was_damaged = !sound;
    const size_t padding = dump::padding(header.length);
    const uint64_t payload_end = begin + header.length;
    bool more = !sound || take({header.type, reinterpret_cast<const uint8_t*>(payload.data()), size_t(header.length),
                                offset, chunks});
    chunks++;
    last_name = here;

    uint64_t zeros = 0;
    size_t got = size_t(std::min<uint64_t>(padding, size - payload_end));
    got = source.read(payload_end, &zeros, got);
    if (zeros != 0)
      problem("the padding after the '" + here + "' chunk of " + name + " is not zero: the file was changed.");
    if (got < padding) {
      problem(name + " is cut off in the padding after the '" + here + "' chunk; what came before is shown.");
      return problems;
    }
    offset = payload_end + padding;
    if (!more) {
      if (offset < size) {
        problem(name + " goes on for " + with_commas(size - offset) + " bytes after its end; they were not read.");
      }
      return problems;
    }
  }
}

}  // namespace tensorscope::model
