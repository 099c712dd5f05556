// SPDX-License-Identifier: Apache-2.0
// What a values file has rows of: values, calls of modules, findings, and what is not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dump/device.h"
#include "values_generated.h"

namespace tensorscope::values {

// Minimum to l2 are of the finite elements; complex elements count by their magnitude.
struct Statistics {
  uint64_t count = 0, nan = 0, positive_infinity = 0, negative_infinity = 0, zeros = 0;
  double minimum = 0, maximum = 0, mean = 0, deviation = 0, sum = 0, l1 = 0, l2 = 0;
  uint64_t hash = 0;  // 0: not asked for

  uint64_t infinite() const { return positive_infinity + negative_infinity; }
  uint64_t finite() const { return count - nan - infinite(); }
  double absmax() const;
};

// A longer result of a reducer: quantiles, a histogram's counts, norms per item.
struct Series {
  std::string what;
  std::vector<double> numbers;
};

// Texts are the file's: they live as long as it does.
struct Value {
  uint64_t serial = 0, time_ns = 0;  // monotonic; ValuesFile::unix_ns() turns it into a time of day
  uint64_t same_as = 0;              // unchanged(): the serial of the value whose elements it has; else 0
  uint64_t tensor = 0;               // serial of the tensor as in dumps; 0: no tensor
  uint64_t call = 0;                 // Call::id during which it was taken; 0: none
  int64_t integer = 0;
  double number = 0, imaginary = 0;
  std::string_view name, module, operation, site, note;
  uint32_t watch = 0;  // index into ValuesFile::watches(); analyzer::kNone: none
  uint32_t step = 0, pass = 0, index = 0, thread = 0;
  format::StepMode mode = format::StepMode::unknown;
  format::ValueKind kind = format::ValueKind::tensor;
  format::ValuePlace place = format::ValuePlace::other;
  int8_t dtype = -1, stored_dtype = -1;  // c10::ScalarType; stored_dtype: of the elements in the file
  analyzer::Device device;
  std::vector<int64_t> shape, kept_shape;  // kept_shape: of the elements in the file, equal to shape but for a slice
  bool sliced = false, not_read = false;   // not_read: `note` says why
  std::optional<Statistics> statistics;
  std::vector<Series> series;

  bool unchanged() const { return same_as != 0; }
  bool is_tensor() const { return kind == format::ValueKind::tensor; }

  // Where the elements are, for elements_of().
  bool stored = false;
  uint64_t data_begin = 0, data_size = 0;
  size_t chunk = 0;
};

// Elements in C order. A text's and another object's bytes are UTF-8, and dtype is -1.
struct Elements {
  int8_t dtype = -1;
  std::vector<int64_t> shape;
  std::string bytes;
};

struct Watch {
  std::string text, path, origin;
  bool full = false;
};

struct Call {
  uint64_t id = 0, parent = 0;  // parent: 0 for none
  uint64_t begin_ns = 0, end_ns = 0;
  uint64_t live_before = 0, live_after = 0, peak = 0, saved = 0;  // peak: 0 where not known
  std::string_view module, class_name, site;
  uint32_t step = 0, pass = 0, index = 0, thread = 0;
  format::StepMode mode = format::StepMode::unknown;
  int8_t device_type = -1;
  bool raised = false, backward = false, unfinished = false;
};

struct FoundInput {
  std::string text;
  std::optional<Statistics> statistics;
};

// The first producer of a NaN or infinity.
struct NonFinite {
  uint64_t time_ns = 0;
  uint32_t step = 0, pass = 0;
  format::StepMode mode = format::StepMode::unknown;
  bool backward = false;
  std::string operation, module, site, headline;
  std::vector<std::string> stack;  // innermost first
  int8_t dtype = -1;
  std::vector<int64_t> shape;
  std::optional<Statistics> statistics;
  std::vector<FoundInput> inputs;
};

// What is not in the file.
struct Loss {
  std::string what, detail;
  uint64_t count = 0;
};

// A watch that matched nothing.
struct Unmatched {
  uint32_t watch = 0;  // index into watches()
  std::vector<std::string> nearest;
};

}  // namespace tensorscope::values
