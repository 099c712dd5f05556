// SPDX-License-Identifier: Apache-2.0
// All signals are blocked on this thread while the object stands; then the mask is what it was.
//
// Context: any, signal handlers included.
#pragma once

#include <signal.h>

namespace tensorscope {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tensorscope
