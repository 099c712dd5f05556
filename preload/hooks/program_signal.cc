#include "hooks/program_signal.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>

#include "hooks/libc_function.h"
#include "snapshot/collector.h"
#include "support/coverage.h"

namespace tensorscope::hooks {

namespace {

constexpr int kKernelFlags = SA_RESTART | SA_NODEFER | SA_ONSTACK;  // of the program's flags, those that become ours

std::atomic<int> g_number{0};
std::atomic<pid_t> g_owner{0};
std::atomic<bool> g_locked{false};
struct sigaction g_program;  // under the lock
sigset_t g_mask_before_fork;
std::atomic<uint64_t> g_interrupting{0};  // signals for which siginterrupt was called, bit number - 1

int real_sigaction(int number, const struct sigaction* action, struct sigaction* old) {
  static LibcFunction<int(int, const struct sigaction*, struct sigaction*)> next;
  return next.get("sigaction")(number, action, old);
}

void lock(sigset_t* mask) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, mask);
  while (g_locked.exchange(true, std::memory_order_acquire)) sched_yield();
}

void unlock(const sigset_t& mask) {
  g_locked.store(false, std::memory_order_release);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

bool is_function(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN && action.sa_handler != SIG_ERR;
}

// Nothing with a destructor may live here: the program's handler may throw or jump out.
void on_signal(int number, siginfo_t* information, void* context) {
  const int saved_errno = errno;
  snapshot::request_from_signal();
  sigset_t mask;
  lock(&mask);
  const struct sigaction action = g_program;
  if (action.sa_flags & SA_RESETHAND) g_program.sa_handler = SIG_DFL;
  unlock(mask);
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
  sigset_t mask;
  lock(&mask);
  const bool installed = real_sigaction(number, nullptr, &g_program) == 0 && install(number, g_program) == 0;
  if (installed) g_number.store(number, std::memory_order_release);
  unlock(mask);
  set_coverage(Subject::signal_trigger, installed ? Seen::yes : Seen::no,
               installed ? "" : "the system refuses a handler for this signal");
}

bool owns_signal(int number) {
  return number != 0 && number == g_number.load(std::memory_order_acquire) &&
         getpid() == g_owner.load(std::memory_order_relaxed);
}

int program_sigaction(const struct sigaction* action, struct sigaction* old) {
  const int number = g_number.load(std::memory_order_relaxed);
  struct sigaction wanted = {};
  if (action) wanted = *action;  // may be the same object as *old
  sigset_t mask;
  lock(&mask);
  const struct sigaction before = g_program;
  int result = 0;
  if (action) {
    result = install(number, wanted);
    if (result == 0) {
      // The kernel's answer to a question holds its restorer; so must ours.
      struct sigaction kernel = {};
      real_sigaction(number, nullptr, &kernel);
      wanted.sa_restorer = kernel.sa_restorer;
      g_program = wanted;
    }
  }
  unlock(mask);
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

void hold_signal() {
  sigset_t mask;
  lock(&mask);
  g_mask_before_fork = mask;
}

void release_signal() {
  const sigset_t mask = g_mask_before_fork;
  unlock(mask);
}

void release_signal_in_child() {
  g_owner.store(getpid(), std::memory_order_relaxed);
  release_signal();
}

}  // namespace tensorscope::hooks
