// SPDX-License-Identifier: Apache-2.0
#include "support/unload_epoch_cache.h"

#include "support/locks/loader_walk.h"

namespace tensorscope {

uint64_t unload_generation() {
  uint64_t unloads = 0;
  walk_loaded_objects([&](const dl_phdr_info& info) {
    unloads = info.dlpi_subs;
    return 1;
  });
  return unloads + 1;
}

}  // namespace tensorscope
