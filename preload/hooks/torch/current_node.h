// The autograd node that the calling thread runs: torch::autograd::get_current_node(), which is there from torch 2.x
// on.
#pragma once

namespace tensorscope::hooks {

// Looks the function up once libtorch_cpu is in the process and hands it to the recorder (set_current_node_function).
// Costs one load once that is done. Context: hook of libtorch_cpu, collector.
void start_current_node();

enum class CurrentNode { not_looked_for, known, unknown };
CurrentNode current_node_state();

}  // namespace tensorscope::hooks
