// SPDX-License-Identifier: Apache-2.0
// The stacks that the recorder sees in these tests: what a test says, for each thread.
#pragma once

#include "stacks/capture.h"

namespace tensorscope::live {

extern thread_local stacks::Stack t_fake_stack;
extern thread_local int t_captures;
inline constexpr StackId kFakeBackward = 7;  // the Python stack in which autograd's engine runs

}  // namespace tensorscope::live
