// SPDX-License-Identifier: Apache-2.0
// libc's ways to install a signal handler. They forward, but for the dump signal of an active profiler.
//
// Those of other systems that glibc has too (bsd_signal, sysv_signal, ssignal, sigset, sigignore) are libc's own: a
// program that calls them for the dump signal has it for itself, and `tensorscope snapshot` requests dumps by a file.
#include <errno.h>
#include <signal.h>

#include "hooks/libc_function.h"
#include "hooks/process/program_signal.h"

using tensorscope::hooks::interrupts;
using tensorscope::hooks::LibcFunction;
using tensorscope::hooks::owns_signal;
using tensorscope::hooks::program_sigaction;
using tensorscope::hooks::program_siginterrupt;
using tensorscope::hooks::program_signal;

namespace {

using SetAction = int(int, const struct sigaction*, struct sigaction*);
using SetHandler = sighandler_t(int, sighandler_t);

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
  if (!owns_signal(number)) return next.get("signal")(number, handler);
  return program_signal(handler, interrupts(number) ? 0 : SA_RESTART, true);
}

// What signal() is in C that is compiled for a strict standard (-std=c11).
EXPORTED sighandler_t __sysv_signal(int number, sighandler_t handler) noexcept {
  static LibcFunction<SetHandler> next;
  if (!owns_signal(number)) return next.get("__sysv_signal")(number, handler);
  return program_signal(handler, int(SA_RESETHAND | SA_NODEFER), false);
}

// Without this hook, signal() of the program would ignore what siginterrupt() has set.
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
