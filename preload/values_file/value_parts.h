// SPDX-License-Identifier: Apache-2.0
// What a value has beside its row.
//
// Context: any; it refers to what its maker keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor_values/statistics.h"
#include "tensor_values/tensor_view.h"

namespace tensorscope::values_file {

// What a value consists of, besides its row. The row lacks serial, thread and where the parts lie. Elements are
// converted where its stored_dtype is not its dtype.
struct ValueParts {
  const tensor_values::TensorView* view = nullptr;        // sizes; elements where `elements` is set
  const tensor_values::Statistics* statistics = nullptr;  // null: none
  uint64_t hash = 0;
  bool elements = false;
  const tensor_values::TensorView* kept = nullptr;  // whose elements; null: those of `view`
  struct Series {
    const char* what;  // a literal
    const double* numbers;
    size_t count;
  };
  std::span<const Series> series;
  std::string_view text;  // of kinds text and other
};

}  // namespace tensorscope::values_file
