// SPDX-License-Identifier: Apache-2.0
#include "live/all_locks.h"

#include "live/allocation_table.h"
#include "live/lock_failure.h"
#include "live/node_table.h"
#include "live/peak.h"
#include "live/runtime_table.h"
#include "live/site_table.h"
#include "live/tensor_table.h"
#include "live/thread_table.h"

namespace tensorscope::live {

bool lock_everything() {
  if (g_tensors.lock_all()) {
    if (g_allocations.lock_all()) {
      if (g_runtime_blocks.lock_all()) {
        if (g_nodes.lock_all()) {
          if (g_sites.lock_all()) {
            if (g_threads.lock_all()) {
              if (lock_peak()) return true;
              g_threads.unlock_all();
            }
            g_sites.unlock_all();
          }
          g_nodes.unlock_all();
        }
        g_runtime_blocks.unlock_all();
      }
      g_allocations.unlock_all();
    }
    g_tensors.unlock_all();
  }
  give_up_on_locks();
  return false;
}

void unlock_everything() {
  unlock_peak();
  g_threads.unlock_all();
  g_sites.unlock_all();
  g_nodes.unlock_all();
  g_runtime_blocks.unlock_all();
  g_allocations.unlock_all();
  g_tensors.unlock_all();
}

}  // namespace tensorscope::live
