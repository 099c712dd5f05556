// SPDX-License-Identifier: Apache-2.0
#include "support/unload_epoch_cache.h"

#include "support/locks/loader_walk.h"

namespace tensorscope {

uint64_t unload_generation() {
  uint64_t unloads = 0;
  walk_loaded_objects(
      [](dl_phdr_info* info, size_t, void* argument) {
        *static_cast<uint64_t*>(argument) = info->dlpi_subs;
        return 1;
      },
      &unloads);
  return unloads + 1;
}

}  // namespace tensorscope
