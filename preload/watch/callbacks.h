// SPDX-License-Identifier: Apache-2.0
// Functions of a Python file that the watch file names, called with what is watched: pre_save with each value before it
// is recorded, pre_gather and post_gather with the values of a step, post_trace at the end. What they raise costs their
// watch.
//
// Context: with the GIL, unless named otherwise.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "python/interpreter.h"
#include "python/named_tensors.h"
#include "tensorscope/rules/watch_spec.h"
#include "watch/tensor_capture.h"

namespace tensorscope::watch {

// `folder`: where relative files are. Context: activation.
void start_callbacks(const std::vector<rules::WatchSpec>& watches, std::string_view folder);

// Any context; cheap.
bool has_callbacks(uint32_t watch);

// A value that is to be called back with: it is kept until call_back(). `of_gradient`: `object` is the tensor whose
// gradient is meant.
struct CallbackValue {
  python::Object* object = nullptr;  // borrowed
  python::LiveTensor tensor;         // of impl null: none
  bool of_gradient = false;
};
void remember_for_callbacks(const python::Gil& gil, uint32_t watch, uint32_t name, const CallbackValue& value,
                            Origin origin);
// A step is over, after what this thread remembered. Any context.
void remember_step_end(uint32_t step);

// Calls the functions for what this thread remembered: on the thread's own stack, outside of any InsideScope. Nothing
// is raised, what is raised already stays.
void call_back(const python::Gil& gil);

// Whether the calling thread is in a callback: what runs there is not watched. Any context.
bool in_callback();

// Says what failing callbacks cost. Context: the thread that ends the program, with the GIL or without.
void finish_callbacks();

}  // namespace tensorscope::watch
