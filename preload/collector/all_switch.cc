#include "collector/all_switch.h"

#include <atomic>

#include "recording/recording.h"
#include "stacks/capture.h"
#include "values_file/values_switch.h"

namespace tensorscope::collector {

namespace {

constinit std::atomic<bool> g_stopped{false};

}  // namespace

void stop_all() {
  g_stopped.store(true, std::memory_order_relaxed);
  stacks::stop_capturing(StoppedBy::all);
  values_file::stop_values(StoppedBy::all);
  recording::hold();
}

void start_all() {
  g_stopped.store(false, std::memory_order_relaxed);
  stacks::start_capturing(StoppedBy::own_switch);
  stacks::start_capturing(StoppedBy::all);
  values_file::start_values(StoppedBy::all);
  recording::go_on();
}

bool all_is_stopped() { return g_stopped.load(std::memory_order_relaxed); }

}  // namespace tensorscope::collector
