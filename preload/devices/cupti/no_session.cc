// SPDX-License-Identifier: Apache-2.0
// A build without CUPTI.
#include "devices/cupti/session.h"
#include "support/coverage.h"
#include "support/message.h"
#include "support/options.h"

namespace tensorscope::cupti {

constinit std::atomic<Stage> g_stage{Stage::off};

void prepare() {
  if (options().cupti == CuptiMode::off) return;
  say("TENSORSCOPE_CUPTI: this build has no CUPTI (meson setup -Dcupti=enabled). Everything else is still recorded.");
  set_coverage(Subject::driver_memory, Seen::no, "this build has no CUPTI");
}

void cuda_is_used(Wait) {}
void give_up() {}
void look(Activity&) {}
void after_fork_in_child() {}

}  // namespace tensorscope::cupti
