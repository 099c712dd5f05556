#include "stacks/capture.h"

namespace tensorscope::stacks {

Stack capture(const void*) { return {}; }
void after_fork_in_child() {}

}  // namespace tensorscope::stacks
