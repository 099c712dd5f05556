// SPDX-License-Identifier: Apache-2.0
// Where the program's steps ended, by serial: so that a dump says in how many different steps its rows were made. A
// step is what the program says it is, else a step of an optimizer where these are counted, else all up to the first
// graph node that is made after a backward pass.
//
// Of many steps every second one is kept, then every fourth, and so on. Context: any. Atomic words, no lock: of two
// threads that end a step at once, one mark may be lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "live/step_count.h"
#include "support/ids.h"

namespace tensorscope::live {

void step_ended(StepSource source);

// A node of the autograd graph runs and allocates; a node is made, and none runs on the thread.
void backward_runs();
bool backward_ran();
// Serials: the newest when the last step ended, and when the last backward pass allocated for the first time. Passes
// without a graph node that is made in between are one. 0: none yet.
Serial last_step_end();
Serial backward_began();
void forward_after_backward();

inline constexpr size_t kMaxStepMarks = 4096;
struct StepMarks {
  StepSource source = StepSource::none;
  uint64_t count = 0;        // steps that have ended
  uint64_t every = 1;        // of so many steps one has a mark
  std::vector<Serial> ends;  // ascending: what was made after it belongs to a later step
  Serial last_end = 0;       // of the last step, also where it has no mark; 0: not known
};
// Those up to this serial. Context: collector.
StepMarks step_marks(Serial newest);

}  // namespace tensorscope::live
