// SPDX-License-Identifier: Apache-2.0
// Work on a thread of its own that is given up when it takes too long: a driver, a file system or a lock that hangs
// must not hang the dump.
//
// What the thread reads and writes lies in zeroed pages that belong to both sides. Who leaves last gives them back, so
// that a thread that was given up may go on as long as it likes.
//
// Context: collector. Not thread-safe: one thread uses an object. The work itself uses no malloc of ours.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "support/helper_thread.h"
#include "support/locks/spin_lock.h"

namespace tensorscope {

class TimedThread {
 public:
  struct Shared;
  // One kind of work.
  struct Kind {
    const char* thread_name;
    void (*work)(Shared&);
    // At most one such thread is alive, so that hangs do not add up. Only ever tried; the thread gives it back. Null:
    // the caller takes care of that.
    SpinLock* running;
    Descriptors descriptors = Descriptors::of_maker;
  };
  // The begin of the shared pages; what the work is about derives from it.
  struct Shared {
    bool given_up() const { return stage.load(std::memory_order_acquire) == kGivenUp; }

   private:
    friend TimedThread;
    enum : uint32_t { kWorking, kEnded, kGivenUp };
    std::atomic<uint32_t> stage;
    const Kind* kind;
    pthread_t thread;
    uint64_t until_ns;
    size_t bytes;  // of the pages
    bool own_descriptors;
  };
  enum class Prepared { yes, still_running, no_memory };

  TimedThread() = default;
  ~TimedThread();  // waits for nothing
  TimedThread(const TimedThread&) = delete;
  TimedThread& operator=(const TimedThread&) = delete;

  // Once an object: takes the pages, which shared() then fills in.
  Prepared prepare(const Kind& kind, size_t bytes);
  // False: no thread can be had.
  bool start(uint64_t patience_ns);
  // True: the work has ended. False: it had not after `patience_ns`, or was never started. What it has written by then
  // may be read either way, by atomics of its own.
  bool wait();
  // Null: not prepared.
  template <typename Derived>
  Derived* shared() const {
    return static_cast<Derived*>(shared_);
  }

 private:
  static void* run(void* shared);
  void drop();
  Shared* shared_ = nullptr;
  bool started_ = false;
};

}  // namespace tensorscope
