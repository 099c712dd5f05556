// SPDX-License-Identifier: Apache-2.0
// c10::TensorImpl: construction, destruction, release (c10/core/TensorImpl.h).
#include "hooks/hook.h"
#include "live/tracker.h"
#include "watch/watch.h"

namespace tensorscope {

namespace {

// The tensor that this thread is deleting: D0 calls D1, whose event would be the same again.
constinit thread_local Word t_deleted = 0;

// A program makes tensors before it calls the modules that have them: time to see the first call.
void constructed(Word impl, stacks::HookFrame hook) {
  live::tensor_constructed(reinterpret_cast<const void*>(impl), hook);
  if (__builtin_expect(watch::waits_for_torch(), false)) watch::ask_main_thread();
}

}  // namespace

#define X(id, ...)                                                                                           \
  Word hook_##id(HOOK_PARAMETERS) {                                                                          \
    if (Event event(Subject::tensors); event) {                                                              \
      live::tensor_takes_storage(reinterpret_cast<const void*>(a), reinterpret_cast<const void* const*>(b)); \
    }                                                                                                        \
    const Word result = real(Hook::id)(HOOK_ARGUMENTS);                                                      \
    if (Event event(Subject::tensors); event) constructed(a, __builtin_frame_address(0));                    \
    return result;                                                                                           \
  }
TENSORSCOPE_TENSOR_CONSTRUCTORS_WITH_STORAGE(X)
#undef X

#define X(id, ...)                                                                        \
  Word hook_##id(HOOK_PARAMETERS) {                                                       \
    const Word result = real(Hook::id)(HOOK_ARGUMENTS);                                   \
    if (Event event(Subject::tensors); event) constructed(a, __builtin_frame_address(0)); \
    return result;                                                                        \
  }
TENSORSCOPE_OTHER_TENSOR_CONSTRUCTORS(X)
#undef X

Word hook_tensor_destroyed_d0(HOOK_PARAMETERS) {
  if (Event event(Subject::tensors); event) live::tensor_destroyed(reinterpret_cast<const void*>(a));
  t_deleted = a;
  const Word result = real(Hook::tensor_destroyed_d0)(HOOK_ARGUMENTS);
  t_deleted = 0;
  return result;
}

#define X(id, ...)                                                                                        \
  Word hook_##id(HOOK_PARAMETERS) {                                                                       \
    if (a != t_deleted) {                                                                                 \
      if (Event event(Subject::tensors); event) live::tensor_destroyed(reinterpret_cast<const void*>(a)); \
    }                                                                                                     \
    return real(Hook::id)(HOOK_ARGUMENTS);                                                                \
  }
TENSORSCOPE_TENSOR_DESTRUCTORS(X)
#undef X

Word hook_tensor_released(HOOK_PARAMETERS) {
  if (Event event(Subject::tensors); event) live::tensor_released(reinterpret_cast<const void*>(a));
  return real(Hook::tensor_released)(HOOK_ARGUMENTS);
}

}  // namespace tensorscope
