// SPDX-License-Identifier: Apache-2.0
// The C API (include/tensorscope/tensorscope.h).
#include "collector/collector.h"
#include "live/tracker.h"
#include "python/bridge.h"
#include "recording/recording.h"
#include "stacks/capture.h"
#include "support/state.h"
#include "tensorscope/tensorscope.h"

extern "C" {

__attribute__((visibility("default"))) int tensorscope_dump(char* path_out, size_t path_size) {
  using namespace tensorscope;
  if (path_out != nullptr && path_size > 0) path_out[0] = 0;
  if (g_state.load(std::memory_order_acquire) == State::dormant) return TENSORSCOPE_ABSENT;
  SiteId site = 0;
  if (HookScope scope; scope) site = live::call_context().site;
  return collector::write_dump_and_wait(collector::Reason::call, "tensorscope_dump", path_out, path_size, site);
}

// Also before torch is there: a program may leave its start out.
__attribute__((visibility("default"))) int tensorscope_stop(void) {
  tensorscope::stacks::stop_capturing();
  return TENSORSCOPE_OK;
}

__attribute__((visibility("default"))) int tensorscope_start(void) {
  tensorscope::stacks::start_capturing();
  return TENSORSCOPE_OK;
}

__attribute__((visibility("default"))) int tensorscope_start_recording(void) {
  using namespace tensorscope;
  if (g_state.load(std::memory_order_acquire) == State::dormant) return TENSORSCOPE_ABSENT;
  collector::run_and_wait(recording::switch_on);
  return recording::is_on() ? TENSORSCOPE_OK : TENSORSCOPE_FAILED;
}

__attribute__((visibility("default"))) int tensorscope_stop_recording(void) {
  using namespace tensorscope;
  if (g_state.load(std::memory_order_acquire) == State::dormant) return TENSORSCOPE_ABSENT;
  collector::run_and_wait(recording::switch_off);
  return TENSORSCOPE_OK;
}

__attribute__((visibility("default"))) int tensorscope_active(void) { return tensorscope::is_recording() ? 1 : 0; }

}  // extern "C"
