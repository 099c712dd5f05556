// SPDX-License-Identifier: Apache-2.0
// c10::reportMemoryUsageToProfiler(void* pointer, int64_t size, size_t allocated, size_t reserved, Device)
// (c10/core/Allocator.h): called by device allocators with their lock held, and by at::MapAllocator.
#include "devices/cupti/session.h"
#include "hooks/hook.h"
#include "live/tracker.h"
#include "oom/failure_record.h"
#include "torch/unrecorded.h"

namespace tensorscope {

namespace {
constexpr int8_t kCuda = 1;  // c10::DeviceType
}

#define X(id, ...)                                                                             \
  Word hook_##id(HOOK_PARAMETERS) {                                                            \
    if (Event event(Subject::mapped_memory); event) {                                          \
      if (int64_t(b) > 0) oom::allocation_succeeded();                                         \
      if (cupti::wanted() && int8_t(e & 0xff) == kCuda) cupti::cuda_is_used(cupti::Wait::no);  \
      live::memory_reported(reinterpret_cast<const void*>(a), int64_t(b), c, d,                \
                            Device{.type = int8_t(e & 0xff), .index = int8_t(e >> 8 & 0xff)}); \
    }                                                                                          \
    return torch::t_unrecorded != 0 ? 0 : real(Hook::id)(HOOK_ARGUMENTS);                      \
  }
TENSORSCOPE_MEMORY_REPORT_HOOKS(X)
#undef X

}  // namespace tensorscope
