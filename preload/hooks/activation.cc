// SPDX-License-Identifier: Apache-2.0
#include "hooks/activation.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/collector.h"
#include "collector/collector_thread.h"
#include "collector/memory_limits.h"
#include "collector/settings_file.h"
#include "collector/step_dumps.h"
#include "collector/wake.h"
#include "collector/write_dump.h"
#include "devices/cupti/session.h"
#include "find_nan/find_nan.h"
#include "hooks/attach.h"
#include "hooks/features.h"
#include "hooks/late_binding.h"
#include "hooks/process/fork.h"
#include "hooks/process/process.h"
#include "hooks/process/program_signal.h"
#include "hooks/self_check.h"
#include "live/tracker.h"
#include "oom/failing_thread.h"
#include "recording/recording.h"
#include "stacks/capture.h"
#include "support/call_filter.h"
#include "support/log.h"
#include "support/options.h"
#include "support/process_info.h"
#include "support/state.h"
#include "support/system_limits.h"
#include "torch/torch_package.h"
#include "watch/watch.h"

namespace tensorscope {

namespace {

std::atomic<bool> g_activated{false};

// Libraries that were loaded since may have been bound past us.
void check_hooks() {
  if (hooks::attached()) hooks::bind_late();
  hooks::run_self_check();
}

// Dumps are then written by the threads that ask for them.
void start_without_threads() {
  collector::open_settings_file();
  static constexpr char kWhy[] = "too little address space for a thread of the profiler (RLIMIT_AS)";
  set_coverage(Subject::signal_trigger, Seen::no, kWhy);
  set_coverage(Subject::low_memory, Seen::no, kWhy);
}

void log_option(const char* variable, const char* value, const char*) {
  if (getenv(variable)) log(LogLevel::info, "{}={}", variable, value);
}

// What the self-check of the hooks and the rooms find after that is in the coverage record, and so in the log.
void log_beginning() {
  if (!log_is_on()) return;
  start_process_info();
  const ProcessInfo& process = process_info();
  log(LogLevel::info, "tensorscope " TENSORSCOPE_VERSION " records {} (process {} of {}) on {}", process.program,
      process.pid, process.parent_pid, options().confidential ? "a host that is left out" : process.host);
  log(LogLevel::info, "torch is in {}", torch::torch_package());
  visit_options(log_option);
}

// A failure leads to a dump: a limit that is near does not lead to another one soon after.
bool write_failure(const dump::Failure& failure) {
  collector::failure_is_dumped();
  return collector::write_failure(failure);
}

void start(const char* settings) {
  remember_filter_of_files();
  parse_options(settings);
  start_log();
  log_beginning();
  if (!options().enabled) return switch_off("switched off by TENSORSCOPE=0");
  if (!live::start()) return switch_off("no memory for the tables");
  stacks::start_native();
  stacks::start_python(!hooks::attached());
  if (hooks::attached() && !hooks::start_attached()) return switch_off("no memory for the tables");
  if (!hooks::run_self_check()) live::disable_tensor_tracking();
  hooks::add_features();
  hooks::start_fork_handlers();
  hooks::start_exit_dump();
  oom::start(&write_failure);
  cupti::prepare();
  recording::start(&collector::wake_collector);
  watch::start(&collector::wake_collector);
  find_nan::start_find_nan({[] { collector::write_dump_and_wait(collector::Reason::call, "--find-nan", nullptr, 0); }});
  collector::start_step_dumps(
      [](const char* detail) { collector::write_dump_and_wait(collector::Reason::call, detail, nullptr, 0); });
  if (!options().module_outputs) {
    set_coverage(Subject::module_outputs, Seen::no, "switched off; set TENSORSCOPE_MODULE_OUTPUTS=1 to record it");
  }
  g_activated.store(true, std::memory_order_release);
  State starting = State::starting;
  g_state.compare_exchange_strong(starting, State::recording, std::memory_order_acq_rel);
  collector::set_hook_check({&check_hooks, &hooks::destruction_is_seen});
  if (address_space_is_tight()) return start_without_threads();
  if (!collector::start_collector()) {
    collector::open_settings_file();
    set_coverage(Subject::descriptors, Seen::no, "no thread: files take numbers of the program's while they are open");
    return set_coverage(Subject::signal_trigger, Seen::no, "the collector thread could not be started");
  }
  hooks::start_signal(options().signal);
  collector::start_memory_limits();
}

// What stood in the way, where it was not dormant.
State start_once(const char* settings) {
  State state = State::dormant;
  if (!g_state.compare_exchange_strong(state, State::starting, std::memory_order_acq_rel)) return state;
  const int saved_errno = errno;
  InsideScope inside;
  start(settings);
  errno = saved_errno;
  return State::dormant;
}

}  // namespace

// What is missed while a running process is attached to was missed before, too.
void wake(Subject subject) {
  if (start_once(nullptr) == State::starting && t_inside == 0 && !hooks::attached()) count_missed(subject);
}

void wake_with(const char* settings) { start_once(settings); }

bool activated() { return g_activated.load(std::memory_order_acquire); }

}  // namespace tensorscope
