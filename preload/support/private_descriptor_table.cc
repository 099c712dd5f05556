// SPDX-License-Identifier: Apache-2.0
#include "support/private_descriptor_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/call_filter.h"
#include "support/ended_threads.h"
#include "support/loaded_object.h"
#include "support/locks/spin_lock.h"
#include "support/pages.h"
#include "support/signals_blocked.h"

namespace tensorscope {

namespace {

constinit thread_local bool t_own = false;
constinit std::atomic<ServeDescriptors> g_serve{nullptr};

constexpr unsigned kUnshare = 2;  // CLOSE_RANGE_UNSHARE of linux/close_range.h, which is younger than some systems
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

// Leaves the shared table for an empty one. Nothing is copied, so nothing is closed either: no file system sees a
// close, and no lock of the program's on a file is lost.
bool leave_by_close_range() { return !calls_are_filtered() && syscall(SYS_close_range, 0U, ~0U, kUnshare) == 0; }

// Closes what the copy of a table holds, by the list in /proc, or number by number where there is no /proc.
void close_all() {
  constexpr int kMaxNumbers = 1 << 16;
  const long list = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (list < 0) {
    rlimit limit;
    const int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? int(std::min<rlim_t>(limit.rlim_cur, kMaxNumbers)) : 1024;
    for (int number = 0; number < end; ++number) syscall(SYS_close, number);
    return;
  }
  alignas(dirent64) char entries[2048];
  for (long size; (size = syscall(SYS_getdents64, list, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      const int number = entry->d_name[0] == '.' ? -1 : atoi(entry->d_name);
      if (number >= 0 && number != list) syscall(SYS_close, number);
      at += entry->d_reclen;
    }
  }
  syscall(SYS_close, list);
}

bool leave_by_unshare() {
  if (calls_are_filtered() || unshare(CLONE_FILES) != 0) return false;
  close_all();
  return true;
}

// valgrind 3.19 knows nothing of close_range() and ends a program that calls clone() like this ("Valgrind does not
// support general clone()").
bool under_valgrind() {
  static constinit std::atomic<int> known{-1};
  if (known.load(std::memory_order_relaxed) < 0) known.store(find_object("vgpreload_core") ? 1 : 0);
  return known.load(std::memory_order_relaxed) == 1;
}

// ThreadSanitizer's runtime takes every clone() for a fork.
constexpr bool kClonesAreUnderstood =
#if defined(__SANITIZE_THREAD__)
    false;
#else
    true;
#endif

// The stack of the thread that exists for one call. One is always there: the next failing thread may find no memory.
class CallStack {
 public:
  CallStack() : static_(g_taken.try_lock()) { begin_ = static_ ? g_stack : static_cast<char*>(map_pages(kBytes)); }
  ~CallStack() { static_ ? g_taken.unlock() : begin_ != nullptr ? unmap_pages(begin_, kBytes) : void(); }
  CallStack(const CallStack&) = delete;
  CallStack& operator=(const CallStack&) = delete;
  explicit operator bool() const { return begin_ != nullptr; }
  char* end() const { return begin_ + kBytes; }

 private:
  static constexpr size_t kBytes = size_t{256} << 10;
  alignas(64) static char g_stack[kBytes];
  static constinit SpinLock g_taken;  // only ever tried
  bool static_;
  char* begin_;
};
alignas(64) char CallStack::g_stack[kBytes];
constinit SpinLock CallStack::g_taken;

struct Call {
  FunctionRef<void()> function;
  bool copied;  // the thread has a copy of the program's table, else the table itself, which it has to leave
  bool made = false;
};

int run_call(void* argument) {
  auto& call = *static_cast<Call*>(argument);
  call.made = call.copied || leave_by_close_range();
  if (!call.made) return 0;
  t_own = true;
  call.function();
  t_own = false;
  return 0;
}

// A thread as pthread_create makes it, but for CLONE_FILES where the table is copied.
bool run_on_thread(Call& call) {
  constexpr int kFlags =
      CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  const CallStack stack;
  if (!stack) return false;
  std::atomic<int> thread{0};  // the kernel clears it and wakes its waiters when the thread has ended
  const SignalsBlocked blocked;
  const int flags = call.copied ? kFlags : kFlags | CLONE_FILES;
  const pid_t cloned = clone(run_call, stack.end(), flags, &call, &thread, nullptr, &thread);
  const int left_errno = errno;
  while (cloned > 0) {
    const int alive = thread.load(std::memory_order_acquire);
    if (alive == 0) break;
    syscall(SYS_futex, &thread, FUTEX_WAIT, alive, nullptr, nullptr, 0);
  }
  if (cloned > 0) {
    note_thread_end(cloned);
  } else {
    errno = left_errno;
  }
  return cloned > 0 && call.made;
}

}  // namespace

bool take_private_descriptors() {
  if (t_own) return true;
  if (under_valgrind()) return false;
  t_own = leave_by_close_range() || leave_by_unshare();
  return t_own;
}

bool has_private_descriptors() { return t_own; }
void inherit_private_descriptors() { t_own = true; }
void adopt_copied_descriptors() {
  close_all();
  t_own = true;
}

bool run_with_private_descriptors(FunctionRef<void()> function) {
  if constexpr (!kClonesAreUnderstood) {
    function();
    return true;
  }
  if (under_valgrind()) return false;
  // unshare() would do what a copied table does, but seccomp filters of containers refuse it.
  for (const bool copied : {false, true}) {
    Call call{function, copied};
    if (run_on_thread(call)) return true;
  }
  return false;
}

void set_descriptor_server(ServeDescriptors serve) { g_serve.store(serve, std::memory_order_release); }

void with_private_descriptors(FunctionRef<void()> function) {
  if (t_own) return function();
  const ServeDescriptors serve = g_serve.load(std::memory_order_acquire);
  if (serve != nullptr && serve(function)) return;
  if (files_are_filtered()) return;
  if (!run_with_private_descriptors(function)) function();
}

int move_to_high_number(int number) {
  constexpr int kRarelyUsed = 512;
  if (t_own || number < 0 || number >= kRarelyUsed) return number;
  const int moved = fcntl(number, F_DUPFD_CLOEXEC, kRarelyUsed);
  if (moved < 0) return number;
  close(number);
  return moved;
}

}  // namespace tensorscope
