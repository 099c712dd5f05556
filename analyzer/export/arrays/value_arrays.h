// SPDX-License-Identifier: Apache-2.0
// What an export of a values file consists of: named arrays, written in pieces. The same for every format of arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "values/value_columns.h"

namespace tensorscope::exports {

inline constexpr int kTexts = -1;  // instead of a dtype

using PutBytes = std::function<void(std::string_view)>;

struct ValueArray {
  std::string name;  // "values"
  int dtype = 0;     // values::Dtype, or kTexts
  std::vector<uint64_t> shape;
  // The elements from this place of the first axis on, in C order.
  std::function<void(uint64_t first, const PutBytes& put)> write;
  std::vector<std::string> texts{};  // kTexts: instead of `write`

  uint64_t bytes() const;
};

// What a format can hold.
struct ArrayFormat {
  bool bfloat16 = false, float8 = false, complex32 = false;
  bool texts = false;  // else their bytes, one after the other
};

struct ColumnArrays {
  std::vector<ValueArray> arrays;
  std::string converted;     // "bfloat16 as float32"; "" where elements are as they were
  bool without_pad = false;  // the padded array would be much larger than its elements, and is left out
};

// `path`: the column's key, so that it can be a part of a path: no '/', nothing that begins with '.'.
std::string array_path(const std::string& key);
ColumnArrays arrays_of(const values::ValueColumns& columns, const values::Column& column, const ArrayFormat& format);

}  // namespace tensorscope::exports
