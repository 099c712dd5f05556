#include "hooks/activation.h"

#include <errno.h>

#include "cupti/session.h"
#include "hooks/fork.h"
#include "hooks/process.h"
#include "hooks/program_signal.h"
#include "hooks/self_check.h"
#include "live/recorder.h"
#include "out_of_memory/failing_thread.h"
#include "out_of_memory/watches.h"
#include "snapshot/collector.h"
#include "stacks/capture.h"
#include "support/options.h"
#include "support/state.h"

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
    return switch_off("torch destroys tensors without calling a function that can be hooked");
  hooks::start_fork_handlers();
  hooks::start_exit_dump();
  out_of_memory::start();
  cupti::prepare();
  if (!options().module_outputs) {
    set_coverage(Subject::module_outputs, Seen::no, "switched off; TENSORSCOPE_MODULE_OUTPUTS=1 switches it on");
  }
  g_activated.store(true, std::memory_order_release);
  State starting = State::starting;
  g_state.compare_exchange_strong(starting, State::recording, std::memory_order_acq_rel);
  if (!snapshot::start_collector()) {
    return set_coverage(Subject::signal_trigger, Seen::no, "no thread could be made that writes dumps");
  }
  hooks::start_signal(options().signal);
  out_of_memory::start_watches();
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
