// SPDX-License-Identifier: Apache-2.0
// Counts the steps of optimizers where nothing else is watched: in the ranks of a job, so that their dumps say at which
// step they were written, and where a step is to be dumped. One global hook of torch.optim, none of torch.nn.
#pragma once

#include "python/interpreter.h"

namespace tensorscope::torch_events {

// Whether steps are to be counted in this process. Context: activation.
bool step_hook_is_wanted();
void want_step_hook();

// Registers the hook, once. False: torch.optim has not been imported whole yet. Context: with the GIL.
bool register_step_hook(const python::Gil& gil);

}  // namespace tensorscope::torch_events
