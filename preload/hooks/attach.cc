// SPDX-License-Identifier: Apache-2.0
#include "hooks/attach.h"

#include <stdio.h>

#include <atomic>

#include "collector/settings_file.h"
#include "hooks/activation.h"
#include "hooks/late_binding.h"
#include "live/preexisting_tensors.h"
#include "support/options.h"
#include "support/state.h"
#include "tensorscope/tensorscope.h"

namespace tensorscope::hooks {

namespace {

std::atomic<bool> g_attached{false};

}  // namespace

bool attached() { return g_attached.load(std::memory_order_acquire); }

bool start_attached() {
  if (!live::start_attached()) return false;
  bind_late();
  return true;
}

}  // namespace tensorscope::hooks

// Another thread may call a hook that is just being bound: it finds the profiler starting.
extern "C" __attribute__((visibility("default"))) int tensorscope_attach(const char* settings, char* message,
                                                                         size_t size) {
  using namespace tensorscope;
  const auto answer = [&](int status, const char* text) {
    if (message != nullptr && size != 0) snprintf(message, size, "%s", text);
    return status;
  };
  if (g_state.load(std::memory_order_acquire) != State::dormant) {
    const bool off = g_state.load(std::memory_order_acquire) == State::off;
    return answer(TENSORSCOPE_FAILED, off ? off_reason() : "tensorscope is active in this process already");
  }
  hooks::g_attached.store(true, std::memory_order_release);
  wake_with(settings);
  if (!is_recording()) return answer(TENSORSCOPE_FAILED, off_reason() ? off_reason() : "another thread starts it");
  collector::show_settings(settings);
  return answer(TENSORSCOPE_OK, "");
}
