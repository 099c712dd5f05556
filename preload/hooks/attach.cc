// SPDX-License-Identifier: Apache-2.0
#include "hooks/attach.h"

#include <atomic>

#include "hooks/late_binding.h"
#include "live/preexisting_tensors.h"

namespace tensorscope::hooks {

namespace {

std::atomic<bool> g_attached{false};

}  // namespace

void mark_attached() { g_attached.store(true, std::memory_order_release); }

bool attached() { return g_attached.load(std::memory_order_acquire); }

bool start_attached() {
  if (!live::start_attached()) return false;
  bind_late();
  return true;
}

}  // namespace tensorscope::hooks
