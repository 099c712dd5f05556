// SPDX-License-Identifier: Apache-2.0
#include "live/thread_table.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "live/address_table.h"
#include "live/lock_failure.h"

namespace tensorscope::live {

constinit ThreadTable g_threads;

bool ThreadTable::start() {
  static constexpr char kNoName[16] = {};
  return size() != 0 || (add_row(0, kNoName) == 0 && size() == 1);
}

ThreadId ThreadTable::add_this_thread() {
  char name[16] = {};
  prctl(PR_GET_NAME, name, 0, 0, 0);
  return add(uint32_t(syscall(SYS_gettid)), name);
}

ThreadId ThreadTable::add(uint32_t tid, const char (&name)[16]) {
  SpinGuard guard(adding_);
  if (!guard) {
    give_up_on_locks();
    return 0;
  }
  const size_t known = size_.load(std::memory_order_relaxed);
  if (known < kOwnRows) return add_row(tid, name);
  for (size_t i = kOwnRows; i < known; ++i) {
    if (std::strncmp(row(i).name, name, sizeof(name)) == 0) return ThreadId(i);
  }
  return known < kOwnRows + kSharedRows ? add_row(0, name) : 0;
}

// 0 also where there is no memory: the thread stays unknown.
ThreadId ThreadTable::add_row(uint32_t tid, const char (&name)[16]) {
  const size_t i = size_.load(std::memory_order_relaxed);
  ThreadEntry*& chunk = chunks_[i / kChunkRows];
  if (chunk == nullptr) chunk = g_row_arena.allocate_array<ThreadEntry>(kChunkRows);
  if (chunk == nullptr) return 0;
  row(i).tid = tid;
  std::memcpy(row(i).name, name, sizeof(name));
  size_.store(i + 1, std::memory_order_release);
  return ThreadId(i);
}

void ThreadTable::copy(ThreadEntry* out, size_t count) const {
  for (size_t i = 0; i < count; ++i) out[i] = row(i);
}

}  // namespace tensorscope::live
