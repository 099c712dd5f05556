// SPDX-License-Identifier: Apache-2.0
// The signals that can trigger a dump, by name: TENSORSCOPE_SIGNAL in the target, and the analyzer that sends one.
//
// Not SIGKILL and SIGSTOP, which nobody can handle, nor the signals of a fault, which must end the program. (glibc has
// names of signals since 2.32 only.)
//
// Context: any. No allocation, no state.
#pragma once

#include <csignal>

namespace tensorscope::rules {

struct SignalName {
  const char* name;
  int number;
};
inline constexpr SignalName kSignals[] = {
    {"SIGHUP", SIGHUP},   {"SIGINT", SIGINT},       {"SIGQUIT", SIGQUIT}, {"SIGUSR1", SIGUSR1},   {"SIGUSR2", SIGUSR2},
    {"SIGPIPE", SIGPIPE}, {"SIGALRM", SIGALRM},     {"SIGTERM", SIGTERM}, {"SIGCHLD", SIGCHLD},   {"SIGCONT", SIGCONT},
    {"SIGTSTP", SIGTSTP}, {"SIGTTIN", SIGTTIN},     {"SIGTTOU", SIGTTOU}, {"SIGURG", SIGURG},     {"SIGXCPU", SIGXCPU},
    {"SIGXFSZ", SIGXFSZ}, {"SIGVTALRM", SIGVTALRM}, {"SIGPROF", SIGPROF}, {"SIGWINCH", SIGWINCH}, {"SIGIO", SIGIO},
    {"SIGPWR", SIGPWR},   {"SIGSYS", SIGSYS},
};

}  // namespace tensorscope::rules
