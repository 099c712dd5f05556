// SPDX-License-Identifier: Apache-2.0
// tensorscope_attach() of include/tensorscope/tensorscope.h.
#include <stdio.h>

#include "collector/collector.h"
#include "collector/settings_file.h"
#include "hooks/activation.h"
#include "hooks/attach.h"
#include "python/interpreter.h"
#include "support/state.h"
#include "tensorscope/tensorscope.h"

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
  hooks::mark_attached();
  collector::keep_settings(settings);
  wake_with(settings);
  if (!is_recording()) return answer(TENSORSCOPE_FAILED, off_reason() ? off_reason() : "another thread starts it");
  // A program that loads the library itself finds all of it there. A thread that was stopped with Python's lock does
  // not wait: the collector would wait for that.
  if (python::surely_without_gil()) collector::wait_until_begun();
  return answer(TENSORSCOPE_OK, "");
}
