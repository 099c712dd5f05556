#include "stacks/capture.h"

namespace tensorscope::stacks {

Stack capture(const void* hook_return_address) {
  Stack stack;
  stack.native = capture_native(hook_return_address);
  stack.python = capture_python();
  return stack;
}

void after_fork_in_child() {
  native_after_fork_in_child();
  python_after_fork_in_child();
}

}  // namespace tensorscope::stacks
