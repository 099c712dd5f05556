// SPDX-License-Identifier: Apache-2.0
#include "collector/all_switch.h"

#include <atomic>

#include "collector/features.h"

namespace tensorscope::collector {

namespace {

constinit std::atomic<bool> g_stopped{false};

}  // namespace

void stop_all() {
  g_stopped.store(true, std::memory_order_relaxed);
  stop_all_features();
}

void start_all() {
  g_stopped.store(false, std::memory_order_relaxed);
  start_all_features();
}

bool all_is_stopped() { return g_stopped.load(std::memory_order_relaxed); }

}  // namespace tensorscope::collector
