#include "collector/all_switch.h"

#include <atomic>

#include "recording/recording.h"
#include "stacks/capture.h"
#include "watch/values_switch.h"

namespace tensorscope::collector {

namespace {

constinit std::atomic<bool> g_stopped{false};
bool g_values_were_on = false, g_recording_was_on = false;  // collector

}  // namespace

void stop_all() {
  stacks::stop_capturing();
  if (g_stopped.exchange(true)) return;
  g_values_were_on = watch::values_are_on();
  g_recording_was_on = recording::is_on();
  watch::stop_values();
  recording::switch_off();
}

void start_all() {
  stacks::start_capturing();
  if (!g_stopped.exchange(false)) return;
  if (g_values_were_on) watch::start_values();
  if (g_recording_was_on) recording::switch_on();
}

bool dumps_are_off() { return g_stopped.load(std::memory_order_relaxed); }

}  // namespace tensorscope::collector
