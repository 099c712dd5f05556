// SPDX-License-Identifier: Apache-2.0
#include "fake_stacks.h"

namespace tensorscope {

namespace live {
thread_local stacks::Stack t_fake_stack;
thread_local int t_captures = 0;
}  // namespace live

namespace stacks {
Stack capture(uint64_t, HookFrame) {
  ++live::t_captures;
  return live::t_fake_stack;
}
Stack capture_in_any_case() { return capture(kWithNative); }
bool python_is_still(StackId) { return false; }
StackId capture_python_part() { return live::t_fake_stack.python; }
bool python_runs_engine(StackId python) { return python == live::kFakeBackward; }
Stack capture_native_part(StackId, uint64_t nbytes) { return capture(nbytes); }
void stop_capturing() {}
void start_capturing() {}
NotRecorded not_recorded() { return {}; }
void after_fork_in_child() {}
}  // namespace stacks

}  // namespace tensorscope
