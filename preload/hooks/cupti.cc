// What the room cupti/ has to know of the program: that it uses CUDA, and that another part of it wants CUPTI. Nothing
// but one load where TENSORSCOPE_CUPTI does not ask for it.
#include <errno.h>

#include "cupti/session.h"
#include "hooks/hook.h"

namespace tensorscope {

// Where the devices are counted, the driver has just been initialised, no context is made yet, and torch holds no lock
// of its allocators.
#define X(id, ...)                                                                     \
  Word hook_##id(HOOK_PARAMETERS) {                                                    \
    const Word result = real(Hook::id)(HOOK_ARGUMENTS);                                \
    if (cupti::wanted() && int(result) == 0 && *reinterpret_cast<const int*>(a) > 0) { \
      const int saved_errno = errno;                                                   \
      cupti::cuda_is_used(cupti::Wait::yes);                                           \
      errno = saved_errno;                                                             \
    }                                                                                  \
    return result;                                                                     \
  }
TENSORSCOPE_DEVICE_COUNT_HOOKS(X)
#undef X

#define X(id, ...)                         \
  Word hook_##id(HOOK_PARAMETERS) {        \
    if (cupti::may_be_running()) {         \
      const int saved_errno = errno;       \
      cupti::give_up();                    \
      errno = saved_errno;                 \
    }                                      \
    return real(Hook::id)(HOOK_ARGUMENTS); \
  }
TENSORSCOPE_CUPTI_HOOKS(X)
#undef X

}  // namespace tensorscope
