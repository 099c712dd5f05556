// SPDX-License-Identifier: Apache-2.0
// prctl() and syscall(), by which a program puts a filter of system calls (seccomp) before itself. One for all threads
// is for the profiler's, too, and may end the process at a call that only these make. So they end before it comes, and
// nothing is opened from then on (support/call_filter.h).
//
// syscall() is hot in some programs: what is none of these two calls costs two comparisons and goes on by a jump, with
// the caller's frame as it is. Until the next library's function is known, for libraries that begin before this one,
// calls go to the kernel directly: a look-up could allocate, and an allocator may call syscall().
#include "hooks/process/seccomp.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>

#include "collector/collector_thread.h"
#include "hooks/activation.h"
#include "support/call_filter.h"
#include "support/state.h"

namespace tensorscope::hooks {

namespace {

using Syscall = long(long, long, long, long, long, long, long);
using Prctl = int(int, long, long, long, long);

constexpr unsigned kPatienceMs = 10'000;  // while a dump is written, as near a limit of memory

constinit std::atomic<Syscall*> g_syscall{nullptr};
constinit std::atomic<Prctl*> g_prctl{nullptr};

long ask_kernel(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long result asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  register long x8 asm("x8") = number;
  asm volatile("svc 0" : "+r"(result) : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5), "r"(x8) : "memory");
#endif
  constexpr unsigned long kErrors = 4095;
  if (static_cast<unsigned long>(result) < -kErrors) return result;
  errno = int(-result);
  return -1;
}

// `succeeded`: which results say that the filter stands.
template <typename Call, typename Succeeded>
long put_filter(bool before_all_threads, Call call, Succeeded succeeded) {
  if (t_inside != 0) return call();
  const InsideScope inside;
  const int errno_before = errno;
  const bool ended = before_all_threads && activated() && collector::suspend(kPatienceMs);
  errno = errno_before;
  const long result = call();
  const int left_errno = errno;
  if (succeeded(result)) {
    filter_was_put(before_all_threads);
  } else if (ended) {
    collector::resume();
  }
  errno = left_errno;
  return result;
}

// seccomp(2). Without a filter the call only asks whether the kernel knows the flags.
bool puts_filter(long operation, long filter) { return operation == SECCOMP_SET_MODE_FILTER && filter != 0; }

[[gnu::noinline]] long seccomp_or_prctl(long number, long a, long b, long c, long d, long e, long f) {
  const auto call = [=] {
    Syscall* const next = g_syscall.load(std::memory_order_relaxed);
    return next != nullptr ? next(number, a, b, c, d, e, f) : ask_kernel(number, a, b, c, d, e, f);
  };
  if (number == SYS_prctl && a == PR_SET_SECCOMP && b == SECCOMP_MODE_FILTER) {
    return put_filter(false, call, [](long result) { return result == 0; });
  }
  if (number == SYS_seccomp && puts_filter(a, c)) {
    const bool listens = (b & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0;  // the result is a descriptor then
    return put_filter((b & SECCOMP_FILTER_FLAG_TSYNC) != 0, call,
                      [listens](long result) { return listens ? result >= 0 : result == 0; });
  }
  return call();
}

}  // namespace

void find_next_system_calls() {
  g_syscall.store(reinterpret_cast<Syscall*>(dlsym(RTLD_NEXT, "syscall")), std::memory_order_relaxed);
  g_prctl.store(reinterpret_cast<Prctl*>(dlsym(RTLD_NEXT, "prctl")), std::memory_order_relaxed);
}

}  // namespace tensorscope::hooks

// Not declared as unistd.h has it: with dots the arguments could not be handed on.
extern "C" {

__attribute__((visibility("default"))) long tensorscope_syscall(long number, long a, long b, long c, long d, long e,
                                                                long f) __asm__("syscall");
__attribute__((visibility("default"))) int tensorscope_prctl(int option, long b, long c, long d,
                                                             long e) __asm__("prctl");

long tensorscope_syscall(long number, long a, long b, long c, long d, long e, long f) {
  using namespace tensorscope::hooks;
  if (__builtin_expect(number == SYS_seccomp || number == SYS_prctl, false)) {
    return seccomp_or_prctl(number, a, b, c, d, e, f);
  }
  Syscall* const next = g_syscall.load(std::memory_order_relaxed);
  if (__builtin_expect(next == nullptr, false)) return ask_kernel(number, a, b, c, d, e, f);
  return next(number, a, b, c, d, e, f);
}

int tensorscope_prctl(int option, long b, long c, long d, long e) {
  using namespace tensorscope::hooks;
  Prctl* const next = g_prctl.load(std::memory_order_relaxed);
  const auto call = [=] {
    return next != nullptr ? next(option, b, c, d, e) : int(ask_kernel(SYS_prctl, option, b, c, d, e, 0));
  };
  if (__builtin_expect(option != PR_SET_SECCOMP || b != SECCOMP_MODE_FILTER, true)) return call();
  return int(put_filter(
      false, [&] { return long(call()); }, [](long result) { return result == 0; }));
}

}  // extern "C"
