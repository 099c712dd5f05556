// SPDX-License-Identifier: Apache-2.0
// Level `op` of watches: the results of every operation that the program calls while a module's call runs, named by
// module and operation ("model.layers.0.attn/aten::softmax"), and those of its backward, named by the autograd node
// that calls them, too ("model.layers.0.attn/SoftmaxBackward0/aten::_softmax_backward_data"). What an operation calls
// within itself is not taken.
//
// Context: as named.
#pragma once

namespace tensorscope::watch {

// Registers with torch for its operations (operation_trace.h). Once, where a watch is of operations. Context:
// activation.
void start_operation_values();

}  // namespace tensorscope::watch
