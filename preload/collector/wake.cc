// SPDX-License-Identifier: Apache-2.0
#include "collector/wake.h"

#include "support/locks/futex.h"

namespace tensorscope::collector {

constinit std::atomic<uint32_t> g_wake{0};

void wake_collector() { futex_change_and_wake(g_wake); }

}  // namespace tensorscope::collector
