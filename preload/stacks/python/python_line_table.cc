// SPDX-License-Identifier: Apache-2.0
#include "stacks/python/python_line_table.h"

#include <cstddef>

namespace tensorscope::stacks {

namespace {

// Objects/lnotab_notes.txt of 3.8: the last entry's range is open.
int32_t decode_lnotab(std::span<const uint8_t> table, int64_t line, int32_t offset) {
  int64_t address = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    address += table[i];
    if (address > offset) break;
    line += int8_t(table[i + 1]);
  }
  return int32_t(line);
}

// Objects/lnotab_notes.txt of 3.10: (length in bytes, signed line delta); a delta of -128 is a range without a line.
int32_t decode_ranges(std::span<const uint8_t> table, int64_t line, int32_t offset) {
  constexpr int8_t kNoLine = -128;
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    int8_t delta = int8_t(table[i + 1]);
    if (delta != kNoLine) line += delta;
    end += table[i];
    if (offset < end) return delta == kNoLine ? 0 : int32_t(line);
  }
  return 0;
}

// Six bits a byte, the lowest first, bit 6 set while more follow (Objects/locations.md of 3.11).
uint32_t read_varint(std::span<const uint8_t> table, size_t& at) {
  uint32_t value = 0;
  for (unsigned shift = 0; at < table.size(); shift += 6) {
    uint8_t byte = table[at++];
    if (shift < 32) value |= uint32_t(byte & 63) << shift;
    if ((byte & 64) == 0) break;
  }
  return value;
}

int32_t read_signed_varint(std::span<const uint8_t> table, size_t& at) {
  uint32_t value = read_varint(table, at);
  return (value & 1) != 0 ? -int32_t(value >> 1) : int32_t(value >> 1);
}

// Objects/locations.md of 3.11: entries begin with a byte that has bit 7 set: code (4 bits), code units - 1 (3 bits).
int32_t decode_locations(std::span<const uint8_t> table, int32_t first_line, int32_t offset) {
  constexpr unsigned kOneLineFirst = 10, kOneLineLast = 12, kNoColumns = 13, kLong = 14, kNone = 15;
  int64_t line = first_line, end = 0;
  for (size_t at = 0; at < table.size();) {
    uint8_t head = table[at++];
    if ((head & 0x80) == 0) continue;  // columns of the entry before
    unsigned code = (head >> 3) & 15;
    end += int64_t((head & 7) + 1) * 2;
    if (code == kNoColumns || code == kLong) {
      line += read_signed_varint(table, at);
    } else if (code >= kOneLineFirst && code <= kOneLineLast) {
      line += code - kOneLineFirst;
    }
    if (offset < end) return code == kNone ? 0 : int32_t(line);
  }
  return 0;
}

}  // namespace

int32_t decode_line(LineFormat format, std::span<const uint8_t> table, int32_t first_line, int32_t offset) {
  if (offset < 0) return first_line;
  switch (format) {
    case LineFormat::lnotab:
      return decode_lnotab(table, first_line, offset);
    case LineFormat::ranges:
      return decode_ranges(table, first_line, offset);
    case LineFormat::locations:
      return decode_locations(table, first_line, offset);
  }
  return 0;
}

}  // namespace tensorscope::stacks
