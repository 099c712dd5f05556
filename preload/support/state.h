// SPDX-License-Identifier: Apache-2.0
// Where the profiler stands in this process, and the guard that every hook takes.
//
// dormant    no torch in the process yet: nothing has been started, nothing is recorded, no cost.
// recording  from the first hooked call on (activation: hooks/activation.cc).
// off        recording was switched off permanently (an error, or the option); dumps say why.
//
// Context: any; one atomic load, no lock.
#pragma once

#include <atomic>
#include <cstdint>

namespace tensorscope {

enum class State : uint8_t { dormant, starting, recording, off };

extern constinit std::atomic<State> g_state;

inline bool is_recording() { return g_state.load(std::memory_order_acquire) == State::recording; }

// Switches recording off permanently. `why` is a string literal. Any context but signal handlers.
void switch_off(const char* why);
const char* off_reason();  // null while not off

// Per-thread word: non-zero while this thread is inside the profiler's own code, so that what the profiler itself
// causes (its collector's allocations, a program's signal handler that interrupts a hook and allocates) is neither
// recorded nor can it deadlock on our own locks.
extern constinit thread_local uint32_t t_inside;  // constinit: no call of an initialiser at each use

// Hook context. `if (HookScope scope; scope) table.record(...)`. False when recording is off or this thread is already
// inside. The real function is never called under a scope: an exception must not pass through one.
class HookScope {
 public:
  HookScope() : HookScope(is_recording()) {}
  ~HookScope() { t_inside -= entered_; }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
  explicit operator bool() const { return entered_; }

 protected:
  explicit HookScope(bool recording) : entered_(__builtin_expect(recording && t_inside == 0, true)) {
    t_inside += entered_;
  }

 private:
  bool entered_;
};

// For the collector and for activation: whatever this thread does under it is not recorded.
class InsideScope {
 public:
  InsideScope() { ++t_inside; }
  ~InsideScope() { --t_inside; }
  InsideScope(const InsideScope&) = delete;
  InsideScope& operator=(const InsideScope&) = delete;
};

}  // namespace tensorscope
