// SPDX-License-Identifier: Apache-2.0
#include "values_file/values_switch.h"

#include <atomic>

#include "support/fresh_in_child.h"
#include "values_file/value_store.h"

namespace tensorscope::values_file {

namespace {

constinit StopSwitch g_values;
constinit std::atomic<unsigned> g_stops{0};
// A forked child goes on as its parent, from its first moment on.
FreshInChild g_fresh_stops{[] { g_stops.store(values_are_on() ? 0 : 1, std::memory_order_relaxed); }};

}  // namespace

bool values_are_on() { return !g_values.is_off(); }

void stop_values(StoppedBy by) {
  if (g_values.stop(by)) g_stops.fetch_add(1, std::memory_order_relaxed);
}

void start_values(StoppedBy by) { g_values.start(by); }

void finish_values_switch() {
  for (unsigned i = g_stops.load(std::memory_order_relaxed); i > 0; --i) {
    count_loss("values and calls while stopped", "stop_values(), or tensorscope stop --values");
  }
}

}  // namespace tensorscope::values_file
