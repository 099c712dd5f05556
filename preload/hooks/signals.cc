// libc's ways to install a signal handler. They forward, but for the dump signal of an active profiler.
#include <errno.h>
#include <signal.h>

#include "hooks/libc_function.h"
#include "hooks/program_signal.h"

using tensorscope::hooks::interrupts;
using tensorscope::hooks::LibcFunction;
using tensorscope::hooks::owns_signal;
using tensorscope::hooks::program_sigaction;
using tensorscope::hooks::program_siginterrupt;
using tensorscope::hooks::program_signal;

namespace {

using SetAction = int(int, const struct sigaction*, struct sigaction*);
using SetHandler = sighandler_t(int, sighandler_t);

sighandler_t set_bsd(LibcFunction<SetHandler>& next, const char* name, int number, sighandler_t handler) {
  if (!owns_signal(number)) return next.get(name)(number, handler);
  return program_signal(handler, interrupts(number) ? 0 : SA_RESTART, true);
}

sighandler_t set_sysv(LibcFunction<SetHandler>& next, const char* name, int number, sighandler_t handler) {
  if (!owns_signal(number)) return next.get(name)(number, handler);
  return program_signal(handler, int(SA_RESETHAND | SA_NODEFER), false);
}

// The disposition that sigset(3) calls SIG_HOLD: the signal is blocked, its action stays.
sighandler_t set_or_hold(int number, sighandler_t disposition) {
  sigset_t itself;
  sigset_t before;
  sigemptyset(&itself);
  sigaddset(&itself, number);
  sighandler_t old;
  if (disposition == SIG_HOLD) {
    struct sigaction action;
    if (sigprocmask(SIG_BLOCK, &itself, &before) != 0 || program_sigaction(nullptr, &action) != 0) return SIG_ERR;
    old = action.sa_handler;
  } else {
    old = program_signal(disposition, 0, false);
    if (old == SIG_ERR || sigprocmask(SIG_UNBLOCK, &itself, &before) != 0) return SIG_ERR;
  }
  return sigismember(&before, number) == 1 ? SIG_HOLD : old;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int sigaction(int number, const struct sigaction* action, struct sigaction* old) noexcept {
  static LibcFunction<SetAction> next;
  return owns_signal(number) ? program_sigaction(action, old) : next.get("sigaction")(number, action, old);
}

EXPORTED int __sigaction(int number, const struct sigaction* action, struct sigaction* old) {
  static LibcFunction<SetAction> next;
  return owns_signal(number) ? program_sigaction(action, old) : next.get("__sigaction")(number, action, old);
}

EXPORTED sighandler_t signal(int number, sighandler_t handler) noexcept {
  static LibcFunction<SetHandler> next;
  return set_bsd(next, "signal", number, handler);
}

EXPORTED sighandler_t ssignal(int number, sighandler_t handler) noexcept {
  static LibcFunction<SetHandler> next;
  return set_bsd(next, "ssignal", number, handler);
}

EXPORTED sighandler_t bsd_signal(int number, sighandler_t handler) noexcept {
  static LibcFunction<SetHandler> next;
  return set_bsd(next, "bsd_signal", number, handler);
}

EXPORTED sighandler_t sysv_signal(int number, sighandler_t handler) noexcept {
  static LibcFunction<SetHandler> next;
  return set_sysv(next, "sysv_signal", number, handler);
}

EXPORTED sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
  static LibcFunction<SetHandler> next;
  return set_sysv(next, "__sysv_signal", number, handler);
}

EXPORTED sighandler_t sigset(int number, sighandler_t disposition) noexcept {
  static LibcFunction<SetHandler> next;
  return owns_signal(number) ? set_or_hold(number, disposition) : next.get("sigset")(number, disposition);
}

EXPORTED int sigignore(int number) noexcept {
  static LibcFunction<int(int)> next;
  if (!owns_signal(number)) return next.get("sigignore")(number);
  return program_signal(SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
}

EXPORTED int siginterrupt(int number, int interrupt) noexcept {
  static LibcFunction<int(int, int)> next;
  const int result = next.get("siginterrupt")(number, interrupt);
  if (result != 0) return result;
  program_siginterrupt(number, interrupt != 0);
  if (!owns_signal(number)) return 0;
  struct sigaction action;
  program_sigaction(nullptr, &action);
  action.sa_flags = interrupt ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
  return program_sigaction(&action, nullptr);
}
