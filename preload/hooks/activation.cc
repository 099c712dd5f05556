#include "hooks/activation.h"

#include <errno.h>

#include "collector/collector.h"
#include "collector/watches.h"
#include "devices/cupti/session.h"
#include "hooks/process/fork.h"
#include "hooks/process/process.h"
#include "hooks/process/program_signal.h"
#include "hooks/self_check.h"
#include "live/recorder.h"
#include "oom/failing_thread.h"
#include "recording/recording.h"
#include "stacks/capture.h"
#include "support/options.h"
#include "support/state.h"
#include "watch/find_nan.h"
#include "watch/step_dumps.h"
#include "watch/watch.h"

namespace tensorscope {

namespace {

std::atomic<bool> g_activated{false};

void start() {
  parse_options();
  if (!options().enabled) return switch_off("switched off by TENSORSCOPE=0");
  if (!live::start()) return switch_off("no memory for the tables");
  stacks::start_native();
  stacks::start_python();
  hooks::run_self_check();
  if (!hooks::destruction_is_seen())
    return switch_off("this torch destroys tensors without a function call that can be hooked");
  hooks::start_fork_handlers();
  hooks::start_exit_dump();
  oom::start(&collector::write_failure);
  cupti::prepare();
  recording::start(&collector::wake_collector);
  watch::start(&collector::wake_collector);
  watch::start_find_nan({[] { collector::request_and_wait(collector::Reason::call, "--find-nan", nullptr, 0); }});
  watch::start_step_dumps(
      [](const char* detail) { collector::request_and_wait(collector::Reason::call, detail, nullptr, 0); });
  if (!options().module_outputs) {
    set_coverage(Subject::module_outputs, Seen::no, "switched off; set TENSORSCOPE_MODULE_OUTPUTS=1 to record it");
  }
  g_activated.store(true, std::memory_order_release);
  State starting = State::starting;
  g_state.compare_exchange_strong(starting, State::recording, std::memory_order_acq_rel);
  collector::set_hook_check({&hooks::run_self_check, &hooks::destruction_is_seen});
  if (!collector::start_collector()) {
    return set_coverage(Subject::signal_trigger, Seen::no, "the collector thread could not be started");
  }
  hooks::start_signal(options().signal);
  collector::start_watches();
}

}  // namespace

void wake(Subject subject) {
  State state = State::dormant;
  if (g_state.compare_exchange_strong(state, State::starting, std::memory_order_acq_rel)) {
    const int saved_errno = errno;
    InsideScope inside;
    start();
    errno = saved_errno;
  } else if (state == State::starting && t_inside == 0) {
    count_missed(subject);
  }
}

bool activated() { return g_activated.load(std::memory_order_acquire); }

}  // namespace tensorscope
