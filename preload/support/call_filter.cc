#include "support/call_filter.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>

namespace tensorscope {

namespace {

constinit std::atomic<bool> g_filtered_at_start{false}, g_filtered_at_activation{false};

// Without a filter 0, under one 2; an error where the kernel has none.
bool has_filter() {
  const int saved_errno = errno;
  const bool has = prctl(PR_GET_SECCOMP) > 0;
  errno = saved_errno;
  return has;
}

}  // namespace

void remember_call_filter() { g_filtered_at_start.store(has_filter(), std::memory_order_relaxed); }

void remember_filter_of_files() { g_filtered_at_activation.store(has_filter(), std::memory_order_relaxed); }

bool calls_are_filtered() { return !g_filtered_at_start.load(std::memory_order_relaxed) && has_filter(); }

bool files_are_filtered() {
  return !g_filtered_at_activation.load(std::memory_order_relaxed) && calls_are_filtered();
}

ssize_t read_own_memory(const iovec& to, const iovec* from, size_t count) {
  if (calls_are_filtered()) {
    errno = EPERM;
    return -1;
  }
  return process_vm_readv(getpid(), &to, 1, from, count, 0);
}

}  // namespace tensorscope
