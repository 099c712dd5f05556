// SPDX-License-Identifier: Apache-2.0
// A tensor as a watch wants it: statistics, elements or both, on their way to the store.
//
// Context: as tensor_view.h, under an InsideScope. Memory of pages alone is allocated.
#pragma once

#include <cstdint>

#include "python/named_tensors.h"
#include "tensor_values/tensor_view.h"
#include "tensorscope/rules/watch_spec.h"
#include "torch_events/steps.h"
#include "values_generated.h"

namespace tensorscope::watch {

// By its steps and mode, and while values are recorded at all.
bool is_due(const rules::WatchSpec& watch, const torch_events::OptimizerStep& step);

// Where a value belongs, besides its name. Texts are numbers of text_id() (value_store.h).
struct Origin {
  format::ValuePlace place = format::ValuePlace::other;
  uint64_t call = 0;
  uint32_t module = 0, operation = 0, site = 0, index = 0;
  bool has_step = false;  // false: the running one
  torch_events::OptimizerStep step;
};

// A row of this kind with what is known of every value: time, step, name and origin.
format::ValueRow row_of(format::ValueKind kind, uint32_t name, const Origin& origin);

// By its dtype.
bool has_wanted_dtype(const rules::WatchSpec& watch, const python::LiveTensor& tensor);

// True: it is what the watch wants (its dtype), whether or not there was room for it. Elements that nobody has changed
// since they were kept for this watch and name are not kept again.
bool take_tensor(const rules::WatchSpec& watch, uint32_t watch_number, uint32_t name, const python::LiveTensor& tensor,
                 const Origin& origin);

// Statistics and elements of an array.
void take_elements(uint32_t name, const tensor_values::TensorView& view, const Origin& origin);

// Returns the zero-based index of this value among those of its name in this pass.
uint32_t next_index(uint32_t name);

// Before the first value.
void start_tensor_capture();

}  // namespace tensorscope::watch
