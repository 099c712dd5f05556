// SPDX-License-Identifier: Apache-2.0
// Dumps at the end of given steps (TENSORSCOPE_DUMP_AT_STEP), so that all ranks of a job write theirs at the same one.
// The steps stand in the variable, or in a file on a disk that all hosts share and that is looked at while the program
// runs.
#pragma once

namespace tensorscope::collector {

// Reads the option. `write`: writes a dump and waits for it; its text is what the dump says about its trigger.
// Context: activation.
void start_step_dumps(void (*write)(const char* detail));

}  // namespace tensorscope::collector
