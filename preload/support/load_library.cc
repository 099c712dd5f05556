// SPDX-License-Identifier: Apache-2.0
#include "support/load_library.h"

#include <dlfcn.h>

#include "support/locks/loader_walk.h"

namespace tensorscope {

void* load_library(const char* path, int flags) {
  const LoaderWalk walk;
  return walk ? dlopen(path, flags) : nullptr;
}

void unload_library(void* library) {
  if (const LoaderWalk walk; walk) dlclose(library);
}

}  // namespace tensorscope
