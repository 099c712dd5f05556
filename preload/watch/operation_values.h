// Level `op` of watches: the results of every operation that the program calls while a module's call runs, named by
// module and operation ("model.layers.0.attn/aten::softmax"). What an operation calls within itself is not taken, nor
// what backward passes do.
//
// Context: as named.
#pragma once

namespace tensorscope::watch {

// Registers with torch for its operations (operation_trace.h). Once, where a watch is of operations. Context:
// activation.
void start_operation_values();

}  // namespace tensorscope::watch
