// SPDX-License-Identifier: Apache-2.0
// Which step of the program runs: how many times an optimizer has changed parameters, and how often the program's
// outermost modules were called, in training and in evaluation apart.
//
// Context: any. Atomic words; no lock.
#pragma once

#include <cstdint>

namespace tensorscope::torch_events {

enum class Mode : uint8_t { unknown, train, eval };  // by the flag of the outermost module

struct OptimizerStep {
  uint32_t number =
      0;              // from 0; in evaluation the number of its pass, in training that of the optimizer's steps so far
  uint32_t pass = 0;  // calls of outermost modules in this mode before this one
  Mode mode = Mode::unknown;
};

OptimizerStep current_step();

// How many steps have ended so far; -1: nobody counts them.
int64_t counted_steps();
// From now on all steps are seen.
void steps_are_counted();

// An outermost module is called.
void begin_pass(Mode mode);
// An optimizer has changed parameters, or the program says that a step is over (from then on only its word counts).
void end_step();
void mark_step();

// Tells listeners that a step has ended, after what the program may do at it. Context: the thread that ended it, with
// the GIL if there is one, under no scope.
void tell_step_end();
// One listener. Context: activation.
void listen_to_step_ends(void (*listener)());

}  // namespace tensorscope::torch_events
