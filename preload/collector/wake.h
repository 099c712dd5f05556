// SPDX-License-Identifier: Apache-2.0
// The word on which the collector thread sleeps. Context: any, signal handlers too.
#pragma once

#include <atomic>
#include <cstdint>

namespace tensorscope::collector {

// Changes with every event that the collector has to look at; it sleeps while the word stays the same.
extern constinit std::atomic<uint32_t> g_wake;

// Has the collector look at what there is to do.
void wake_collector();

}  // namespace tensorscope::collector
