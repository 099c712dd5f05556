// SPDX-License-Identifier: Apache-2.0
// The autograd node that the calling thread runs: torch::autograd::get_current_node(), which is there from torch 2.x
// on. Each allocation needs it, and the call costs more than a table: once it is known which thread-local variable of
// torch the answer comes from, that is read, and compared with the function's answer at every 251st time.
#pragma once

namespace tensorscope::hooks {

// Looks the function up once libtorch_cpu is in the process and hands it to the tracker (set_current_node_function).
// Costs one load once that is done. Context: hook of libtorch_cpu, collector.
void start_current_node();

enum class CurrentNode { not_looked_for, known, unknown };
CurrentNode current_node_state();

}  // namespace tensorscope::hooks
