// SPDX-License-Identifier: Apache-2.0
// Keeps a signal that a system call raises on the calling thread (SIGPIPE, SIGXFSZ) from the program: while the object
// stands it is blocked, and what came meanwhile is taken away. A signal that was waiting before stays.
//
// Context: any. errno is left as it was.
#pragma once

#include <errno.h>
#include <signal.h>
#include <time.h>

namespace tensorscope {

class SignalTaken {
 public:
  explicit SignalTaken(int number) {
    sigemptyset(&signal_);
    sigaddset(&signal_, number);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, number) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~SignalTaken() {
    constexpr timespec kAtOnce = {0, 0};
    const int saved_errno = errno;
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &kAtOnce);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = saved_errno;
  }
  SignalTaken(const SignalTaken&) = delete;
  SignalTaken& operator=(const SignalTaken&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_;
};

}  // namespace tensorscope
