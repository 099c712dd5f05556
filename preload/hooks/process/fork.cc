// SPDX-License-Identifier: Apache-2.0
#include "hooks/process/fork.h"

#include <pthread.h>

#include "collector/collector_thread.h"
#include "devices/cupti/session.h"
#include "hooks/process/program_signal.h"
#include "live/tracker.h"
#include "oom/failing_thread.h"
#include "stacks/capture.h"
#include "support/coverage.h"
#include "support/fresh_in_child.h"
#include "support/locks/loader_walk.h"
#include "support/locks/lock_word.h"
#include "support/log.h"
#include "support/process_info.h"
#include "support/state.h"

namespace tensorscope::hooks {

namespace {

// The gate first, since phase 1 of a dump takes all that follows. From then on this thread records nothing of what
// other handlers do on it. docs/architecture.md says what may be held here and why.
void before_fork() {
  ++t_inside;
  collector::before_fork();
  hold_signals();
  hold_loader_walks();
  live::before_fork();
}

void after_fork_in_parent() {
  live::after_fork_in_parent();
  release_loader_walks();
  release_signals();
  collector::after_fork_in_parent();
  --t_inside;
}

// The states of all rooms first; then what a room does with what another one has, in the order of the rooms.
void after_fork_in_child() {
  forget_locks_in_child();
  process_info_after_fork_in_child();
  FreshInChild::make_all_anew();
  live::after_fork_in_child();
  stacks::after_fork_in_child();
  oom::after_fork_in_child();
  cupti::after_fork_in_child();
  collector::after_fork_in_child();
  log(LogLevel::info, "forked from process {}", process_info().forked_from);
  release_signals_in_child();  // last: a signal that is already waiting asks this process, not the parent, for a dump
  --t_inside;
}

}  // namespace

void start_fork_handlers() {
  if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0) {
    set_coverage(Subject::fork, Seen::yes, "");
  } else {
    set_coverage(Subject::fork, Seen::no, "no memory for the handlers: a forked child must not be profiled");
  }
}

}  // namespace tensorscope::hooks
