// SPDX-License-Identifier: Apache-2.0
#include "live/step_count.h"

#include <atomic>

#include "support/fresh_in_child.h"

namespace tensorscope::live {

namespace {

constexpr unsigned kSourceShift = 56;
constexpr uint64_t kCount = (uint64_t{1} << kSourceShift) - 1;

struct Steps {
  std::atomic<uint64_t> state{0};  // source and number of steps
};
constinit Steps g_steps;
FreshInChild g_fresh_steps{g_steps};

}  // namespace

StepCount step_count() {
  const uint64_t state = g_steps.state.load(std::memory_order_relaxed);
  return {StepSource(state >> kSourceShift), state & kCount};
}

uint64_t count_step(StepSource source) {
  uint64_t state = g_steps.state.load(std::memory_order_relaxed), next = 0;
  do {
    const auto known = StepSource(state >> kSourceShift);
    if (source < known) return 0;
    next = source == known ? state + 1 : uint64_t(source) << kSourceShift | 1;
  } while (!g_steps.state.compare_exchange_weak(state, next, std::memory_order_relaxed));
  return next & kCount;
}

}  // namespace tensorscope::live
