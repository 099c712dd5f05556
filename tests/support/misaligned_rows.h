// SPDX-License-Identifier: Apache-2.0
// A chunk's payload that FlatBuffers' builder never makes: a vector whose rows begin at a multiple of 4 bytes only.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace tensorscope::testing {

// A root table whose only field is a vector of `count` rows of zeros; `field` is its number in the schema. Aligned, the
// rows begin at a multiple of 8.
inline std::string payload_of_rows(uint16_t field, size_t row_size, uint32_t count, bool aligned) {
  std::string bytes(8, '\0');  // size of the rest, offset of the table
  const auto put = [&](size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  const size_t vtable = bytes.size(), vtable_size = 4 + 2 * (size_t{field} + 1);
  bytes.resize((vtable + vtable_size + 3) / 4 * 4);
  const size_t table = bytes.size();
  put(vtable, uint16_t(vtable_size));
  put(vtable + 2, uint16_t(8));                      // the table's size: its own offset and the field
  put(vtable + 4 + 2 * size_t{field}, uint16_t(4));  // where in the table the field is
  bytes.resize(table + 8);
  put(table, int32_t(table - vtable));
  const bool at_eight = (bytes.size() + 4) % 8 == 0;
  if (at_eight != aligned) bytes.resize(bytes.size() + 4);
  const size_t vector = bytes.size();
  put(table + 4, uint32_t(vector - table - 4));
  bytes.resize(vector + 4 + row_size * count);
  put(vector, count);
  put(4, uint32_t(table - 4));
  put(0, uint32_t(bytes.size() - 4));
  return bytes;
}

}  // namespace tensorscope::testing
