// SPDX-License-Identifier: Apache-2.0
#include "hooks/process/program_signal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "collector/collector.h"
#include "hooks/libc_function.h"
#include "support/coverage.h"
#include "support/locks/mutex.h"
#include "support/signals_blocked.h"
#include "tensorscope/rules/own_handler.h"

namespace tensorscope::hooks {

namespace {

using rules::kOwnHandlerRuns;
constexpr int kKernelFlags = SA_RESTART | SA_NODEFER | SA_ONSTACK;  // of the program's flags, those that become ours

std::atomic<int> g_number{0};
std::atomic<pid_t> g_owner{0};
std::atomic<uint64_t> g_interrupting{0};                 // signals for which siginterrupt was called, bit number - 1
constinit thread_local uint64_t t_mask_before_fork = 0;  // as the kernel has it: signal 1 is bit 0

// The program's own action. Two records and a word that says which of them holds: twice the number of changes so far,
// plus one where a one-shot handler (SA_RESETHAND) has been called. Of a record that holds nothing is written, and the
// handler takes what it has read only where the word is still the same. So it never waits for a thread that changes the
// action, which may itself wait, for the processor or for a fork, and a forked child finds a whole record.
struct sigaction g_records[2] = {};
std::atomic<uint64_t> g_change{0};
constinit Mutex g_changing;  // with all signals blocked; taken by handlers that call sigaction(), never across a fork

class ChangeGuard {
 private:
  const SignalsBlocked blocked_;
  const MutexGuard changing_{g_changing};
};

int real_sigaction(int number, const struct sigaction* action, struct sigaction* old) {
  static LibcFunction<int(int, const struct sigaction*, struct sigaction*)> next;
  return next.get("sigaction")(number, action, old);
}

bool is_function(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN && action.sa_handler != SIG_ERR;
}

const struct sigaction& record_of(uint64_t change) { return g_records[change >> 1 & 1]; }

// Under the lock.
struct sigaction program_action() {
  const uint64_t change = g_change.load(std::memory_order_relaxed);
  struct sigaction action = record_of(change);
  if (change & 1) action.sa_handler = SIG_DFL;
  return action;
}

// Under the lock.
void keep_program_action(const struct sigaction& action) {
  const uint64_t next = (g_change.load(std::memory_order_relaxed) | 1) + 1;
  struct sigaction& record = g_records[next >> 1 & 1];
  record.sa_mask = action.sa_mask;
  record.sa_restorer = action.sa_restorer;
  // Who reads these also sees that this record was left.
  __atomic_store_n(&record.sa_flags, action.sa_flags, __ATOMIC_RELEASE);
  __atomic_store_n(&record.sa_handler, action.sa_handler, __ATOMIC_RELEASE);
  g_change.store(next, std::memory_order_release);
  coverage(Subject::signal_trigger).detail.store(is_function(action) ? kOwnHandlerRuns : "", std::memory_order_release);
}

// Handler and flags of the program's action, for one call. Lock-free.
struct sigaction take_action_to_call() {
  uint64_t change = g_change.load(std::memory_order_acquire);
  for (;;) {
    const struct sigaction& record = record_of(change);
    struct sigaction action = {};
    action.sa_handler = __atomic_load_n(&record.sa_handler, __ATOMIC_ACQUIRE);
    action.sa_flags = __atomic_load_n(&record.sa_flags, __ATOMIC_ACQUIRE);
    const uint64_t now = g_change.load(std::memory_order_acquire);
    if (now != change) {
      change = now;
      continue;
    }
    if ((action.sa_flags & SA_RESETHAND) == 0) return action;
    if (change & 1) return {};
    if (g_change.compare_exchange_strong(change, change | 1, std::memory_order_acq_rel)) return action;
  }
}

// Nothing with a destructor may live here: the program's handler may throw or jump out.
void on_signal(int number, siginfo_t* information, void* context) {
  const int saved_errno = errno;
  collector::request_from_signal();
  const struct sigaction action = take_action_to_call();
  errno = saved_errno;
  if (!is_function(action)) return;
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction(number, information, context);
  } else {
    action.sa_handler(number);
  }
}

// Under the lock. The kernel applies the program's mask, restart and stack itself.
int install(int number, const struct sigaction& program) {
  struct sigaction ours = {};
  ours.sa_sigaction = on_signal;
  if (is_function(program)) {
    ours.sa_mask = program.sa_mask;
    ours.sa_flags = SA_SIGINFO | (program.sa_flags & kKernelFlags);
  } else {
    sigemptyset(&ours.sa_mask);
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  }
  return real_sigaction(number, &ours, nullptr);
}

}  // namespace

void start_signal(int number) {
  if (number == 0) return set_coverage(Subject::signal_trigger, Seen::no, "switched off by TENSORSCOPE_SIGNAL");
  g_owner.store(getpid(), std::memory_order_relaxed);
  struct sigaction program = {};
  bool installed = real_sigaction(number, nullptr, &program) == 0;
  if (installed) {
    const ChangeGuard guard;
    keep_program_action(program);
    installed = install(number, program) == 0;
    if (installed) g_number.store(number, std::memory_order_release);
  }
  if (!installed)
    return set_coverage(Subject::signal_trigger, Seen::no, "the system refuses a handler for this signal");
  coverage(Subject::signal_trigger).seen.store(Seen::yes, std::memory_order_release);
}

bool owns_signal(int number) {
  return number != 0 && number == g_number.load(std::memory_order_acquire) &&
         getpid() == g_owner.load(std::memory_order_relaxed);
}

int program_sigaction(const struct sigaction* action, struct sigaction* old) {
  const int number = g_number.load(std::memory_order_relaxed);
  struct sigaction wanted = {};
  if (action) wanted = *action;  // may be the same object as *old
  struct sigaction before;
  int result = 0;
  {
    const ChangeGuard guard;
    before = program_action();
    if (action) result = install(number, wanted);
    if (action && result == 0) {
      // The kernel's answer to a question holds its restorer; so must ours.
      struct sigaction kernel = {};
      real_sigaction(number, nullptr, &kernel);
      wanted.sa_restorer = kernel.sa_restorer;
      keep_program_action(wanted);
    }
  }
  if (result == 0 && old) *old = before;
  return result;
}

sighandler_t program_signal(sighandler_t handler, int flags, bool mask_itself) {
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction action = {};
  struct sigaction old = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  if (mask_itself) sigaddset(&action.sa_mask, g_number.load(std::memory_order_relaxed));
  return program_sigaction(&action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

void program_siginterrupt(int number, bool interrupt) {
  if (number < 1 || number > 64) return;
  const uint64_t bit = uint64_t{1} << (number - 1);
  if (interrupt) {
    g_interrupting.fetch_or(bit);
  } else {
    g_interrupting.fetch_and(~bit);
  }
}

bool interrupts(int number) { return g_interrupting.load() >> (number - 1) & 1; }

bool signal_is_ours() {
  const int number = g_number.load(std::memory_order_acquire);
  struct sigaction kernel = {};
  return number != 0 && real_sigaction(number, nullptr, &kernel) == 0 && kernel.sa_sigaction == on_signal;
}

void hold_signals() {
  sigset_t all, before;
  sigfillset(&all);
  sigemptyset(&before);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  memcpy(&t_mask_before_fork, &before, sizeof t_mask_before_fork);
}

void release_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  memcpy(&mask, &t_mask_before_fork, sizeof t_mask_before_fork);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

// Another thread may have been between the kernel's action and the record: the record holds.
void release_signals_in_child() {
  g_owner.store(getpid(), std::memory_order_relaxed);
  if (signal_is_ours()) {
    const ChangeGuard guard;
    install(g_number.load(std::memory_order_relaxed), program_action());
  }
  release_signals();
}

}  // namespace tensorscope::hooks
