// SPDX-License-Identifier: Apache-2.0
// Reads little numbers out of a bounded run of bytes; beyond its end everything is zero and ok() is false.
//
// Context: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tensorscope::stacks {

class ByteReader {
 public:
  ByteReader() = default;
  ByteReader(const uint8_t* begin, size_t size) : at_(begin), end_(begin + size) {}

  const uint8_t* position() const { return at_; }
  size_t left() const { return size_t(end_ - at_); }
  bool ok() const { return ok_; }

  template <typename T>
  T fixed() {
    T value{};
    if (left() < sizeof value) {
      fail();
      return value;
    }
    memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  uint64_t uleb() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = fixed<uint8_t>();
      if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  int64_t sleb() {
    uint64_t value = 0;
    for (int shift = 0;;) {
      const uint8_t byte = fixed<uint8_t>();
      if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
      return int64_t(value);
    }
  }

  // A zero-terminated text; "" and not ok where it does not end here.
  const char* text() {
    const auto* zero = left() == 0 ? nullptr : static_cast<const uint8_t*>(memchr(at_, 0, left()));
    if (zero == nullptr) {
      fail();
      return "";
    }
    const auto* begin = reinterpret_cast<const char*>(at_);
    at_ = zero + 1;
    return begin;
  }

  void skip(uint64_t bytes) {
    if (bytes > left()) return fail();
    at_ += bytes;
  }

 private:
  void fail() {
    ok_ = false;
    at_ = end_;
  }
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  bool ok_ = true;
};

}  // namespace tensorscope::stacks
