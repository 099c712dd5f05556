#include "stacks/capture.h"

namespace tensorscope::stacks {

Stack capture(const void* hook_return_address) {
  Stack stack;
  stack.native = capture_native(hook_return_address);
  stack.python = capture_python();
  return stack;
}

StackId capture_python_part() { return capture_python(); }
Stack capture_native_part(StackId python) { return {capture_native(nullptr), python}; }

void after_fork_in_child() {
  native_after_fork_in_child();
  python_after_fork_in_child();
}

}  // namespace tensorscope::stacks
