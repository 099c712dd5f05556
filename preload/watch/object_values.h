// SPDX-License-Identifier: Apache-2.0
// What an object of the program holds at a path of keys, indexes and attributes: its tensors, and numbers and texts as
// they are. Iterates over dicts, lists and tuples only, and reads no property: no code of the program
// runs.
//
// Context: with the GIL, under an InsideScope.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "python/interpreter.h"
#include "python/named_tensors.h"
#include "support/function_ref.h"
#include "values_generated.h"
#include "watch/tensor_capture.h"

namespace tensorscope::watch {

// All but tensors.
struct PlainValue {
  format::ValueKind kind = format::ValueKind::none;
  int64_t integer = 0;
  double number = 0, imaginary = 0;
  std::string text;
};

struct FoundValue {
  const std::string& way;       // from the object: "", "['x'][0]", ".grad"
  python::LiveTensor tensor;    // of impl null: none
  const PlainValue* plain;      // null: a tensor
  python::Object* object;       // null: computed (a shape)
  bool is_gradient_of = false;  // `tensor` is the gradient of `object`
};
using UseValue = FunctionRef<void(const FoundValue& found)>;

// Adds a row with it.
void add_plain_value(uint32_t name, const PlainValue& value, uint32_t watch, const Origin& origin);

// `within`: a pattern, one segment for each step; empty for the object itself. What holds tensors is taken apart.
void each_value_at(const python::Gil& gil, python::Object* object, const std::vector<std::string>& within,
                   UseValue use);

}  // namespace tensorscope::watch
