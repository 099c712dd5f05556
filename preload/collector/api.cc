// SPDX-License-Identifier: Apache-2.0
// The C API (include/tensorscope/tensorscope.h).
#include "collector/collector.h"
#include "collector/features.h"
#include "live/tracker.h"
#include "stacks/capture.h"
#include "support/state.h"
#include "tensorscope/rules/request_name.h"
#include "tensorscope/tensorscope.h"

namespace tensorscope::collector {

namespace {

// Has the collector run a feature's command, as `tensorscope` asks for it from outside, and waits.
int run_command(const char* text) {
  const Command* const command =
      g_state.load(std::memory_order_acquire) == State::dormant ? nullptr : find_command(text);
  if (command == nullptr) return TENSORSCOPE_ABSENT;
  run_and_wait(command->run);
  return command->is_done == nullptr || command->is_done() ? TENSORSCOPE_OK : TENSORSCOPE_FAILED;
}

}  // namespace

}  // namespace tensorscope::collector

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
  return tensorscope::collector::run_command(tensorscope::rules::kRequestRecord);
}

__attribute__((visibility("default"))) int tensorscope_stop_recording(void) {
  return tensorscope::collector::run_command(tensorscope::rules::kRequestNoRecord);
}

__attribute__((visibility("default"))) int tensorscope_active(void) { return tensorscope::is_recording() ? 1 : 0; }

}  // extern "C"
