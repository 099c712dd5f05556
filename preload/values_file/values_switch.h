// SPDX-License-Identifier: Apache-2.0
// Whether values and calls of modules are recorded: switched off and on by stop_values() and start_values() of the
// program, or by `tensorscope stop --values`. What the program says itself by save() is recorded all the same.
//
// Context: any. Atomic words; no lock.
#pragma once

#include "support/stopped_by.h"

namespace tensorscope::values_file {

bool values_are_on();
void stop_values(StoppedBy by = StoppedBy::own_switch);
void start_values(StoppedBy by = StoppedBy::own_switch);

// Counts the stops as what was not recorded. Context: the thread that ends the program.
void finish_values_switch();

}  // namespace tensorscope::values_file
