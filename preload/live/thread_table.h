// SPDX-License-Identifier: Apache-2.0
// Threads that made something: kernel id and name, as of a thread's first event.
//
// Context: hook (once a thread), collector. Bounded: after 65,536 threads a new one is entered under its name alone (id
// 0 in the row), and threads of the same name share that row; after 256 such names it is ThreadId 0.
#pragma once

#include <atomic>
#include <cstddef>

#include "live/entries.h"
#include "support/ids.h"
#include "support/locks/spin_lock.h"

namespace tensorscope::live {

class ThreadTable {
 public:
  static constexpr size_t kOwnRows = size_t{1} << 16;
  static constexpr size_t kSharedRows = 256;

  constexpr ThreadTable() = default;

  bool start();
  // Enters the calling thread.
  ThreadId add_this_thread();
  ThreadId add(uint32_t tid, const char (&name)[16]);

  // Whether the row is that of one thread, not of all of a name.
  static constexpr bool is_one_thread(ThreadId id) { return id != 0 && id < kOwnRows; }

  size_t size() const { return size_.load(std::memory_order_acquire); }
  void copy(ThreadEntry* out, size_t count) const;

  bool lock_all() { return adding_.lock(); }
  void unlock_all() NO_THREAD_SAFETY_ANALYSIS { adding_.unlock(); }

 private:
  static constexpr size_t kChunkRows = 1024;
  static constexpr size_t kMaxChunks = (kOwnRows + kSharedRows + kChunkRows - 1) / kChunkRows;

  ThreadEntry& row(size_t i) const { return chunks_[i / kChunkRows][i % kChunkRows]; }
  ThreadId add_row(uint32_t tid, const char (&name)[16]);

  ThreadEntry* chunks_[kMaxChunks] = {};
  std::atomic<size_t> size_{0};
  SpinLock adding_;
};

extern ThreadTable g_threads;

}  // namespace tensorscope::live
