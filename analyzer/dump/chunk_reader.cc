// SPDX-License-Identifier: Apache-2.0
#include "dump/chunk_reader.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <span>

#include "support/error.h"
#include "tensorscope/dump_format.h"
#include "tensorscope/recording_format.h"
#include "tensorscope/values_format.h"

namespace tensorscope::analyzer {

namespace {

constexpr size_t kPiece = size_t{1} << 18;
constexpr uint64_t kReadAtOnce = uint64_t{64} << 20;

// One walk over a file. Each step says whether the walk goes on; what is wrong is kept as a sentence.
class ChunkWalk {
 public:
  ChunkWalk(const ByteSource& source, const std::string& name) : source_(source), name_(name), size_(source.size()) {}

  std::vector<std::string> run(const std::function<bool(const ChunkView&)>& take) {
    while (read_header()) {
      const bool sound = read_payload();
      if (!sound && report_damage()) break;
      last_was_damaged_ = !sound;
      const bool more = !sound || take({header_.type, reinterpret_cast<const uint8_t*>(payload_.get()),
                                        size_t(header_.length), offset_, chunks_});
      ++chunks_;
      last_name_ = here_;
      if (!skip_padding()) break;
      if (more) continue;
      if (offset_ < size_) {
        problem(name_ + " has " + with_commas(size_ - offset_) + " bytes after its end; they were not read.");
      }
      break;
    }
    return std::move(problems_);
  }

 private:
  void problem(const std::string& text) { problems_.push_back(text); }
  uint64_t payload_begin() const { return offset_ + sizeof header_; }

  bool read_header() {
    if (offset_ == size_) {
      problem(name_ + " is cut off after the " + (chunks_ ? "'" + last_name_ + "' chunk" : last_name_) +
              "; what came before is shown.");
      return false;
    }
    header_ = {};
    if (size_ - offset_ < sizeof header_ || source_.read(offset_, &header_, sizeof header_) < sizeof header_) {
      problem(name_ + " is cut off at byte " + with_commas(size_) +
              ", in the header of a chunk; what came before is shown.");
      return false;
    }
    here_ = chunk_name(header_.type);
    if (header_.reserved != 0 || header_.length > format::kMaxChunkBytes) {
      problem(name_ + " is damaged at byte " + with_commas(offset_) +
              ", in the header of a chunk; what came before is shown.");
      return false;
    }
    const uint64_t left = size_ - payload_begin();
    if (header_.length <= left) return true;
    problem(name_ + " is cut off at byte " + with_commas(left) + " of the '" + here_ +
            "' chunk; what came before is shown.");
    return false;
  }

  // False: its checksum is wrong. Much memory is taken for a payload only once the file is known to have it.
  bool read_payload() {
    if (header_.length > kReadAtOnce && checksum_in_file(source_, payload_begin(), header_) != header_.checksum) {
      return false;
    }
    const size_t words = size_t(header_.length / 8 + 1);
    if (words > room_) {
      payload_.reset();
      payload_ = std::make_unique_for_overwrite<uint64_t[]>(words);
      room_ = words;
    }
    payload_[words - 1] = 0;
    return source_.read(payload_begin(), payload_.get(), size_t(header_.length)) == header_.length &&
           format::chunk_checksum(header_, payload_.get()) == header_.checksum;
  }

  // True: the chunk before was damaged too, and the walk ends.
  bool report_damage() {
    problem("the '" + here_ + "' chunk at byte " + with_commas(offset_) + " of " + name_ +
            " is damaged: its checksum does not match. " +
            (last_was_damaged_ ? "Nothing after it was read." : "It was left out."));
    return last_was_damaged_;
  }

  bool skip_padding() {
    const size_t padding = format::padding(header_.length);
    const uint64_t end = payload_begin() + header_.length;
    uint64_t zeros = 0;
    const size_t got = source_.read(end, &zeros, size_t(std::min<uint64_t>(padding, size_ - end)));
    if (zeros != 0) {
      problem("the padding after the '" + here_ + "' chunk of " + name_ + " is not zero: the file was changed.");
    }
    if (got < padding) {
      problem(name_ + " is cut off in the padding after the '" + here_ + "' chunk; what came before is shown.");
      return false;
    }
    offset_ = end + padding;
    return true;
  }

  const ByteSource& source_;
  const std::string& name_;
  const uint64_t size_;
  uint64_t offset_ = sizeof(format::FileHeader);  // of the present chunk's header
  format::ChunkHeader header_{};
  std::unique_ptr<uint64_t[]> payload_;  // 8-byte aligned; of the largest chunk so far
  size_t room_ = 0;                      // in words
  uint32_t chunks_ = 0;
  bool last_was_damaged_ = false;
  std::string here_, last_name_ = "file header";
  std::vector<std::string> problems_;
};

}  // namespace

void check_file_header(const ByteSource& source, const std::string& name, const FileKind& kind) {
  format::FileHeader header{};
  size_t got = source.read(0, &header, sizeof header);
  if (got == 0) throw BadInput(name + " is empty; nothing was written into it.");
  size_t magic = std::min(got, sizeof header.magic);
  if (std::memcmp(header.magic, kind.magic, magic) != 0) {
    const bool values = std::memcmp(header.magic, format::kValuesMagic, sizeof header.magic) == 0;
    const bool dump = std::memcmp(header.magic, format::kMagic, sizeof header.magic) == 0;
    throw BadInput(name + " is not a tensorscope " + kind.name +
                   (values ? ": it is a values file; see tensorscope values."
                    : dump ? ": it is a dump; see tensorscope report."
                           : "."));
  }
  if (got < sizeof header) {
    throw BadInput(name + " is cut off at byte " + with_commas(got) +
                   ", in the file header; there is nothing in it to show.");
  }
  if (header.checksum != format::header_checksum(header)) {
    throw BadInput(name + " is damaged: the checksum of its file header does not match.");
  }
  const std::string what = std::string(" is a ") + kind.name + " of format " + std::to_string(header.major);
  if (header.major > kind.major) {
    throw BadInput(name + what + "." + std::to_string(header.minor) + "; this tensorscope reads up to " +
                   std::to_string(kind.major) + ".x. Read it with the version that wrote it, or a newer one.");
  }
  if (header.major == 0) throw BadInput(name + what + ", which no tensorscope wrote.");
}

uint64_t checksum_in_file(const ByteSource& source, uint64_t offset, const format::ChunkHeader& header) {
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

std::string chunk_name(uint32_t type) {
  for (const std::span<const format::ChunkKind> all :
       {std::span<const format::ChunkKind>(format::kChunkKinds),
        std::span<const format::ChunkKind>(format::kRecordingChunkKinds)}) {
    for (const format::ChunkKind& known : all) {
      if (known.type == type) return known.name;
    }
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
  return walk_chunks(source, name, {format::kMagic, format::kFormatMajor, "dump"}, take);
}

std::vector<std::string> walk_chunks(const ByteSource& source, const std::string& name, const FileKind& kind,
                                     const std::function<bool(const ChunkView&)>& take) {
  check_file_header(source, name, kind);
  return ChunkWalk(source, name).run(take);
}

}  // namespace tensorscope::analyzer
