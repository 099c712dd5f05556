// SPDX-License-Identifier: Apache-2.0
#include "html/payload.h"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

namespace tensorscope::html {

namespace {

constexpr size_t kAlignment = 8;
constexpr int kLevel = 6;  // 9 takes three times as long for a hundredth

size_t padding(size_t size) { return (kAlignment - size % kAlignment) % kAlignment; }

// Bytes in, base64 of their deflated form out, a piece at a time: a page may be as large as half of the memory.
class Packer {
 public:
  explicit Packer(std::ostream& out) : out_(out) {
    if (deflateInit(&stream_, kLevel) != Z_OK) fail();
  }
  ~Packer() { deflateEnd(&stream_); }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  void add(std::string_view bytes) {
    constexpr size_t kMax = size_t{1} << 30;  // zlib counts in 32 bits
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kMax, bytes.size()))) run(bytes.substr(0, kMax), Z_NO_FLUSH);
  }
  void finish() {
    run({}, Z_FINISH);
    if (!left_.empty()) put(left_);
  }

 private:
  [[noreturn]] static void fail() { throw std::runtime_error("the data of the page cannot be packed"); }

  void run(std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = uInt(bytes.size());
    std::string piece(kPiece, '\0');
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = uInt(piece.size());
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) fail();
      left_.append(piece, 0, piece.size() - stream_.avail_out);
      const size_t whole = left_.size() / 3 * 3;
      put(std::string_view(left_).substr(0, whole));
      left_.erase(0, whole);
    } while (stream_.avail_out == 0);
  }

  void put(std::string_view bytes) {
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (size_t i = 0; i < bytes.size(); i += 3) {
      const size_t left = std::min<size_t>(3, bytes.size() - i);
      uint32_t three = 0;
      for (size_t k = 0; k < 3; ++k) three = three << 8 | (k < left ? uint8_t(bytes[i + k]) : 0);
      for (size_t k = 0; k < 4; ++k) text += k <= left ? kDigits[three >> (18 - 6 * k) & 63] : '=';
    }
    out_ << text;
  }

  static constexpr size_t kPiece = size_t{3} << 16;
  std::ostream& out_;
  z_stream stream_{};
  std::string left_;  // less than three bytes
};

}  // namespace

template <typename To, typename From>
Json Payload::add(const char* type, const std::vector<From>& numbers) {
  columns_.resize(columns_.size() + padding(columns_.size()), ' ');
  const size_t at = columns_.size();
  columns_.resize(at + numbers.size() * sizeof(To));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const To number = To(numbers[i]);
    std::copy_n(reinterpret_cast<const char*>(&number), sizeof number, columns_.data() + at + i * sizeof number);
  }
  return {{"type", type}, {"at", at}, {"count", numbers.size()}};
}

template <std::unsigned_integral Number>
Json Payload::column(const std::vector<Number>& numbers) {
  uint64_t most = 0;
  for (Number number : numbers) most = std::max<uint64_t>(most, number);
  if (most <= UINT8_MAX) return add<uint8_t>("u8", numbers);
  if (most <= UINT16_MAX) return add<uint16_t>("u16", numbers);
  if (most <= UINT32_MAX) return add<uint32_t>("u32", numbers);
  return add<double>("f64", numbers);
}
template Json Payload::column(const std::vector<uint32_t>&);
template Json Payload::column(const std::vector<uint64_t>&);

void Column::push_back(uint64_t number) {
  if (wide_.empty() && number <= UINT32_MAX) return narrow_.push_back(uint32_t(number));
  if (wide_.empty()) {
    wide_.reserve(std::max(narrow_.capacity(), narrow_.size() + 1));
    wide_.assign(narrow_.begin(), narrow_.end());
    narrow_ = {};
  }
  wide_.push_back(number);
}

Json Payload::column(const Column& numbers) {
  return numbers.wide_.empty() ? column(numbers.narrow_) : column(numbers.wide_);
}

Json Payload::column(const std::vector<double>& numbers) { return add<double>("f64", numbers); }

void Payload::write(const Json& head, std::ostream& out) const {
  const std::string text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string length;
  for (int i = 0; i < 4; ++i) length += char(uint32_t(text.size()) >> (8 * i));
  Packer packer(out);
  packer.add(length);
  packer.add(text);
  packer.add(std::string(padding(length.size() + text.size()), ' '));
  packer.add(columns_);
  packer.finish();
}

uint32_t Texts::number(std::string text) {
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const auto number = uint32_t(all_.size());
  text.shrink_to_fit();
  numbers_.emplace(all_.emplace_back(std::move(text)), number);
  return number;
}

Json Texts::take() {
  numbers_.clear();
  Json list = Json::array();
  for (std::string& text : all_) list.push_back(std::move(text));
  all_.clear();
  return list;
}

}  // namespace tensorscope::html
