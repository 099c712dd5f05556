// SPDX-License-Identifier: Apache-2.0
// Names that the program gave its tensors by libtensorscope.name(), kept as long as the tensor lives.
//
// Context: with the GIL, which is the lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "python/interpreter.h"
#include "support/function_ref.h"

namespace tensorscope::python {

struct NamedTensor {
  uint64_t serial;
  const void* impl;
  std::string text;
};

// The TensorImpl of an object that stands for a live tensor, and its serial; a serial of 0 for any other object.
struct LiveTensor {
  const void* impl = nullptr;
  uint64_t serial = 0;
};
LiveTensor live_tensor(const Gil& gil, Object* object);

// Does nothing for what is no live tensor, nor where kMaxNames live tensors have names. A longer text is cut.
void name_tensor(const Gil& gil, Object* object, std::string_view text);

// Calls f(named) for each name of a tensor that is alive, in the order in which they were given; others are forgotten.
void each_named_tensor(const Gil& gil, FunctionRef<void(const NamedTensor& named)> f);

inline constexpr size_t kMaxNames = size_t{1} << 16;
inline constexpr size_t kLongestName = 200;

}  // namespace tensorscope::python
