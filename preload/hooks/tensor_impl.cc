// c10::TensorImpl: construction, destruction, release (c10/core/TensorImpl.h).
#include "hooks/hook.h"
#include "live/recorder.h"

namespace tensorscope {

#define X(id, ...)                                                \
  Word hook_##id(HOOK_PARAMETERS) {                               \
    const Word result = real(Hook::id)(HOOK_ARGUMENTS);           \
    if (Event event(Subject::tensors); event) {                   \
      live::tensor_constructed(reinterpret_cast<const void*>(a)); \
    }                                                             \
    return result;                                                \
  }
TENSORSCOPE_TENSOR_CONSTRUCTORS(X)
#undef X

#define X(id, ...)                                              \
  Word hook_##id(HOOK_PARAMETERS) {                             \
    if (Event event(Subject::tensors); event) {                 \
      live::tensor_destroyed(reinterpret_cast<const void*>(a)); \
    }                                                           \
    return real(Hook::id)(HOOK_ARGUMENTS);                      \
  }
TENSORSCOPE_TENSOR_DESTRUCTORS(X)
#undef X

Word hook_tensor_released(HOOK_PARAMETERS) {
  if (Event event(Subject::tensors); event) live::tensor_released(reinterpret_cast<const void*>(a));
  return real(Hook::tensor_released)(HOOK_ARGUMENTS);
}

}  // namespace tensorscope
