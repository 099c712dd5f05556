// SPDX-License-Identifier: Apache-2.0
// What autograd saved for backward within calls of modules: bytes of storages that were allocated during a call, that
// autograd saved during it, and that are still allocated when it ends. Each storage counts once.
//
// Context: as named.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/ids.h"

namespace tensorscope::torch_events {

extern constinit std::atomic<bool> g_saves_are_followed;
inline bool saves_are_followed() { return g_saves_are_followed.load(std::memory_order_relaxed); }

void follow_saved_tensors();

// Autograd makes a SavedVariable of this tensor. Context: hook, where saves_are_followed().
void tensor_is_saved(const void* impl);

// A call begins and ends; calls of a thread nest. Context: under an InsideScope.
struct SavesBegin {
  Serial newest = 0;  // what is allocated later is made in the call
  size_t first = 0;
};
SavesBegin saves_begin();
uint64_t saves_end(const SavesBegin& begin);

}  // namespace tensorscope::torch_events
