// SPDX-License-Identifier: Apache-2.0
// The moments at which memory runs out. The order in torch (c10/cuda/CUDACachingAllocator.cpp,
// c10/core/CPUAllocator.cpp, 2.6 to 2.14):
//   a device   reportOutOfMemoryToProfiler under the allocator's lock; the lock is released; c10::OutOfMemoryError is
//              thrown. The cudaMallocAsync backend throws under its lock, and reports nothing.
//   the CPU    c10::alloc_cpu throws c10::Error; the allocator catches it, calls
//              ProfiledCPUMemoryReporter::OutOfMemory, and throws it again.
//   /dev/shm   c10::Error is thrown, which differs from others in its message only.
#include "hooks/hook.h"
#include "hooks/torch/exception_type.h"
#include "hooks/torch/throw_function.h"
#include "oom/failing_thread.h"
#include "oom/failure_record.h"
#include "support/loaded_object.h"

namespace tensorscope {

#define X(id, ...)                                                                                        \
  Word hook_##id(HOOK_PARAMETERS) {                                                                       \
    if (Event event(Subject::out_of_memory); event) {                                                     \
      oom::allocator_reported(a, b, c, Device{.type = int8_t(d & 0xff), .index = int8_t(d >> 8 & 0xff)}); \
    }                                                                                                     \
    return real(Hook::id)(HOOK_ARGUMENTS);                                                                \
  }
TENSORSCOPE_OUT_OF_MEMORY_REPORT_HOOKS(X)
#undef X

Word hook_cpu_out_of_memory(HOOK_PARAMETERS) {
  if (Event event(Subject::out_of_memory); event) oom::host_allocation_failed(b);
  return real(Hook::cpu_out_of_memory)(HOOK_ARGUMENTS);
}

namespace {

// The backend cudaMallocAsync does not report its failures: it allocates on the thread's current device, which the
// runtime keeps in a word of the thread. cudaGetDevice(int*), CUDA 11 to 13.
Device current_device() {
  int (*get_device)(int*) = nullptr;
  int index = -1;
  if (!resolve("cudaGetDevice", get_device) || get_device(&index) != 0) return {};
  return {.type = 1, .index = int8_t(index)};
}

__attribute__((noinline, cold)) void torch_may_throw(const void* exception, const hooks::TypeInfo* type,
                                                     const void* thrower) {
  const HookScope scope;
  if (!scope) return;
  const bool out_of_memory = hooks::is_out_of_memory(type);
  if (out_of_memory || oom::t_runtime_call_failed) {
    if (hooks::belongs_to_torch(type, thrower)) oom::torch_throws(out_of_memory, current_device());
  } else if (hooks::is_about_shared_memory(type, exception) && hooks::belongs_to_torch(type, thrower)) {
    oom::shared_memory_failed();
  }
}

}  // namespace

}  // namespace tensorscope

// __cxa_throw: every exception of the process comes by here; of other classes than c10's only the name is looked at.
// The linker gives it that name (preload/meson.build), since libstdc++.a defines it, too, beside functions that
// libstdc++ itself needs.
extern "C" __attribute__((visibility("default"), used, noreturn)) void tensorscope_cxa_throw(
    void* object, void* type, void (*destructor)(void*)) {
  const void* const thrower = __builtin_return_address(0);
  const auto* const info = static_cast<const tensorscope::hooks::TypeInfo*>(type);
  if (__builtin_expect(tensorscope::hooks::is_of_c10(info), false)) tensorscope::torch_may_throw(object, info, thrower);
  tensorscope::hooks::throw_function_for(thrower)(object, type, destructor);
  __builtin_unreachable();
}
