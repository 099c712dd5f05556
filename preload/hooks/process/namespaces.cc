// SPDX-License-Identifier: Apache-2.0
// unshare() and setns() refuse some namespaces to a process with more than one thread. The profiler's threads end
// before such a call, if they have nothing to do, and are made again afterwards.
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "collector/collector_thread.h"
#include "hooks/activation.h"
#include "hooks/libc_function.h"
#include "support/state.h"

namespace tensorscope::hooks {

namespace {

// A thread that was waited for is still counted for some microseconds.
constexpr int kMaxTries = 50;
constexpr timespec kMillisecond = {0, 1'000'000};

template <typename Call>
int call_without_threads(Call call) {
  if (!activated() || t_inside != 0) return call();
  const InsideScope inside;
  const int errno_before = errno;
  const bool ended = collector::suspend();
  int result = call();
  for (int i = 0; ended && result != 0 && (errno == EINVAL || errno == EUSERS) && i < kMaxTries; ++i) {
    nanosleep(&kMillisecond, nullptr);
    result = call();
  }
  const int left_errno = result == 0 ? errno_before : errno;
  if (ended) collector::resume();
  errno = left_errno;
  return result;
}

}  // namespace

}  // namespace tensorscope::hooks

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int unshare(int flags) noexcept {
  static tensorscope::hooks::LibcFunction<int(int)> next;
  // What needs a process with one thread (unshare(2)); a pid namespace does, too.
  constexpr int kOneThread = CLONE_NEWUSER | CLONE_NEWPID | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;
  const auto call = [&] { return next.get("unshare")(flags); };
  return (flags & kOneThread) != 0 ? tensorscope::hooks::call_without_threads(call) : call();
}

EXPORTED int setns(int file, int kind) noexcept {
  static tensorscope::hooks::LibcFunction<int(int, int)> next;
  return tensorscope::hooks::call_without_threads([&] { return next.get("setns")(file, kind); });
}
