#include "html/payload.h"

#include <zlib.h>

#include <algorithm>
#include <stdexcept>

namespace tensorscope::html {

namespace {

constexpr size_t kAlignment = 8;
constexpr int kLevel = 6;  // 9 takes three times as long for a hundredth

void pad(std::string& bytes) { bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment, ' '); }

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
                kLevel) != Z_OK) {
    throw std::runtime_error("the data of the page cannot be packed");
  }
  out.resize(size);
  return out;
}

std::string base64(const std::string& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (k < left ? uint8_t(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += k <= left ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace

template <typename To, typename From>
Json Payload::add(const char* type, const std::vector<From>& numbers) {
  pad(columns_);
  const size_t at = columns_.size();
  columns_.resize(at + numbers.size() * sizeof(To));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const To number = To(numbers[i]);
    std::copy_n(reinterpret_cast<const char*>(&number), sizeof number, columns_.data() + at + i * sizeof number);
  }
  return {{"type", type}, {"at", at}, {"count", numbers.size()}};
}

Json Payload::column(const std::vector<uint64_t>& numbers) {
  uint64_t most = 0;
  for (uint64_t number : numbers) most = std::max(most, number);
  if (most <= UINT8_MAX) return add<uint8_t>("u8", numbers);
  if (most <= UINT16_MAX) return add<uint16_t>("u16", numbers);
  if (most <= UINT32_MAX) return add<uint32_t>("u32", numbers);
  return add<double>("f64", numbers);
}

Json Payload::column(const std::vector<double>& numbers) { return add<double>("f64", numbers); }

std::string Payload::packed(const Json& head) const {
  const std::string text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += char(uint32_t(text.size()) >> (8 * i));
  bytes += text;
  pad(bytes);
  bytes += columns_;
  return base64(deflated(bytes));
}

uint32_t Texts::number(const std::string& text) {
  auto [found, fresh] = numbers_.try_emplace(text, uint32_t(all_.size()));
  if (fresh) all_.push_back(text);
  return found->second;
}

}  // namespace tensorscope::html
