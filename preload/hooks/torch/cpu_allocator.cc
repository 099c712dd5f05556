// SPDX-License-Identifier: Apache-2.0
// c10::alloc_cpu(size_t) and c10::free_cpu(void*) (c10/core/impl/alloc_cpu.h).
#include "hooks/hook.h"
#include "live/tracker.h"
#include "oom/failure_record.h"

namespace tensorscope {

Word hook_alloc_cpu(HOOK_PARAMETERS) {
  const Word result = real(Hook::alloc_cpu)(HOOK_ARGUMENTS);
  if (Event event(Subject::cpu_memory); event && result != 0) {
    oom::allocation_succeeded();
    live::cpu_allocated(reinterpret_cast<const void*>(result), a, __builtin_frame_address(0));
  }
  return result;
}

Word hook_free_cpu(HOOK_PARAMETERS) {
  if (Event event(Subject::cpu_memory); event && a != 0) live::cpu_freed(reinterpret_cast<const void*>(a));
  return real(Hook::free_cpu)(HOOK_ARGUMENTS);
}

}  // namespace tensorscope
