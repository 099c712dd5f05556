// SPDX-License-Identifier: Apache-2.0
#include "support/call_filter.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>

namespace tensorscope {

namespace {

constinit std::atomic<bool> g_filtered_at_start{false}, g_filtered_at_activation{false};
constinit std::atomic<bool> g_activated{false};
constinit std::atomic<bool> g_put_early{false}, g_put_before_all{false};  // early: before activation
constinit thread_local bool t_put = false;                                // since then, before this thread

bool was_put() { return g_put_before_all.load(std::memory_order_relaxed) || t_put; }

// Without a filter 0, under one 2; an error where the kernel has none.
bool has_filter() {
  const int saved_errno = errno;
  const bool has = prctl(PR_GET_SECCOMP) > 0;
  errno = saved_errno;
  return has;
}

bool is_seen() { return !g_filtered_at_start.load(std::memory_order_relaxed) && has_filter(); }

}  // namespace

void remember_call_filter() { g_filtered_at_start.store(has_filter(), std::memory_order_relaxed); }

void remember_filter_of_files() {
  g_filtered_at_activation.store(has_filter(), std::memory_order_relaxed);
  g_activated.store(true, std::memory_order_relaxed);
}

void filter_was_put(bool before_all_threads) {
  if (!g_activated.load(std::memory_order_relaxed)) return g_put_early.store(true, std::memory_order_relaxed);
  t_put = true;
  if (before_all_threads) g_put_before_all.store(true, std::memory_order_relaxed);
}

bool calls_are_filtered() { return g_put_early.load(std::memory_order_relaxed) || was_put() || is_seen(); }

bool files_are_filtered() {
  return was_put() || (!g_filtered_at_activation.load(std::memory_order_relaxed) && is_seen());
}

ssize_t read_own_memory(const iovec& to, const iovec* from, size_t count) {
  if (calls_are_filtered()) {
    errno = EPERM;
    return -1;
  }
  return process_vm_readv(getpid(), &to, 1, from, count, 0);
}

}  // namespace tensorscope
