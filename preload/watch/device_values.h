// SPDX-License-Identifier: Apache-2.0
// Values of tensors in a device's memory: reduced there, by torch's own operations on the stream that is current, into
// a buffer of the device. From time to time the buffer is copied to pinned memory on a stream of its own; nothing waits
// for it. When the copy is there, a later value's thread hands it to the store. Two buffers take turns; what finds no
// room in them is counted, or waits where the watch file says so.
//
// Context: with the GIL, under an InsideScope.
#pragma once

#include <cstdint>

#include "python/interpreter.h"
#include "support/status.h"
#include "tensor_values/statistics.h"
#include "tensor_values/tensor_view.h"
#include "values_generated.h"

namespace tensorscope::watch {

struct DeviceValue {
  // For `written`, which is called once elements are in the store.
  struct Context {
    uint64_t words[8];
  };
  format::ValueRow row;
  const void* impl = nullptr;
  const tensor_values::TensorView* view = nullptr;
  bool statistics = false;
  bool norms = false, quantiles = false, histogram = false, hash = false;
  const tensor_values::TensorView* kept = nullptr;  // whose elements; null: none
  bool sliced = false;                              // `kept` is a part of `view`
  void (*written)(const Context& context, uint64_t serial) = nullptr;
  Context context = {};
};

// Whether tensors that are read so are taken this way: those of CUDA devices, and others where the option says so.
bool is_taken_on_device(tensor_values::Readable readable, const tensor_values::TensorView& view);

// What is sorted takes memory of the device for a moment: 16 to 24 bytes an element.
inline constexpr int64_t kMaxSorted = int64_t{1} << 23;

// Done: it will be in the file, later.
Status take_on_device(const python::Gil& gil, DeviceValue value);

// Whether this thread's operations are those that make the buffers. Context: any.
bool prepares_buffers();

}  // namespace tensorscope::watch
