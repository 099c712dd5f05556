// SPDX-License-Identifier: Apache-2.0
// What the room cupti/ has to know of the program: that it uses CUDA, and that another part of it wants CUPTI. Nothing
// but one load where TENSORSCOPE_CUPTI does not ask for it.
#include <errno.h>

#include "devices/cupti/session.h"
#include "hooks/hook.h"
#include "support/binding.h"

namespace tensorscope {

namespace {

// These calls are rare, so that the function behind each is looked up anew; and a program that finds ours where no
// CUDA is in the process (by a weak reference, by dlsym) gets an answer that it can live with.
Word call(const char* name, const void* caller, Word without, HOOK_PARAMETERS) {
  const int saved_errno = errno;
  const auto function = reinterpret_cast<RealFunction>(hooks::find_binding(name, caller).function);
  errno = saved_errno;
  return function == nullptr ? without : function(HOOK_ARGUMENTS);
}

constexpr Word kNoDevice = 100;       // cudaErrorNoDevice
constexpr Word kNotInitialized = 15;  // CUPTI_ERROR_NOT_INITIALIZED

}  // namespace

// Where the devices are counted, the driver has just been initialised, no context is made yet, and torch holds no lock
// of its allocators.
#define X(id, symbol, ...)                                                                     \
  Word hook_##id(HOOK_PARAMETERS) {                                                            \
    const Word result = call(#symbol, __builtin_return_address(0), kNoDevice, HOOK_ARGUMENTS); \
    if (cupti::wanted() && int(result) == 0 && *reinterpret_cast<const int*>(a) > 0) {         \
      const int saved_errno = errno;                                                           \
      cupti::cuda_is_used(cupti::Wait::yes);                                                   \
      errno = saved_errno;                                                                     \
    }                                                                                          \
    return result;                                                                             \
  }
TENSORSCOPE_DEVICE_COUNT_HOOKS(X)
#undef X

#define X(id, symbol, ...)                                                              \
  Word hook_##id(HOOK_PARAMETERS) {                                                     \
    if (cupti::may_be_running()) {                                                      \
      const int saved_errno = errno;                                                    \
      cupti::give_up();                                                                 \
      errno = saved_errno;                                                              \
    }                                                                                   \
    return call(#symbol, __builtin_return_address(0), kNotInitialized, HOOK_ARGUMENTS); \
  }
TENSORSCOPE_CUPTI_HOOKS(X)
#undef X

}  // namespace tensorscope
