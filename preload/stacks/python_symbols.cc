// Stands in for support/loaded_object.cc until that is there.
#include <dlfcn.h>

#include "support/loaded_object.h"

namespace tensorscope {
__attribute__((weak)) void* find_in_any_object(const char* name) { return dlsym(RTLD_DEFAULT, name); }
}  // namespace tensorscope
