// SPDX-License-Identifier: Apache-2.0
// What torch.autocast does with the operations that it knows, by the names of native stacks and of autograd nodes.
#pragma once

#include <cstdint>
#include <string_view>

namespace tensorscope::analyzer {

enum class CastRule : uint8_t {
  follows,  // the type of what it is given, the wider one of two
  lower,    // 16 bits, and copies of float32 inputs
  float32
};

// `operation`: without its overload and without "aten::", such as "log_softmax". `cpu`: on a CPU; else on a device.
CastRule cast_rule(std::string_view operation, bool cpu);
// `node`: class of an autograd node, such as "LogSoftmaxBackward0".
CastRule cast_rule_of_node(std::string_view node, bool cpu);
// An operation of a forward or backward pass that computes in float32: "_log_softmax_backward_data" too.
bool computes_float32(std::string_view operation, bool cpu);

}  // namespace tensorscope::analyzer
