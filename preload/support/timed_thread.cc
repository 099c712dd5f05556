// SPDX-License-Identifier: Apache-2.0
#include "support/timed_thread.h"

#include "support/clock.h"
#include "support/helper_thread.h"
#include "support/locks/futex.h"
#include "support/pages.h"
#include "support/private_descriptor_table.h"

namespace tensorscope {

namespace {
constexpr size_t kTimedStackBytes = size_t{512} << 10;  // glibc takes the thread's static TLS out of it, too
}

// prepare() takes Kind::running; the thread, or drop() without one, gives it back.
void* TimedThread::run(void* argument) NO_THREAD_SAFETY_ANALYSIS {
  auto* shared = static_cast<Shared*>(argument);
  const HelperThreadScope thread(shared->kind->thread_name);
  if (shared->own_descriptors) inherit_private_descriptors();
  shared->kind->work(*shared);
  if (shared->kind->running != nullptr) shared->kind->running->unlock();
  if (shared->stage.exchange(Shared::kEnded, std::memory_order_acq_rel) == Shared::kGivenUp) {
    unmap_pages(shared, shared->bytes);
  } else {
    futex_wake(shared->stage);
  }
  return nullptr;
}

TimedThread::Prepared TimedThread::prepare(const Kind& kind, size_t bytes) NO_THREAD_SAFETY_ANALYSIS {
  if (kind.running != nullptr && !kind.running->try_lock()) return Prepared::still_running;
  shared_ = static_cast<Shared*>(map_pages(bytes));
  if (shared_ == nullptr) {
    if (kind.running != nullptr) kind.running->unlock();
    return Prepared::no_memory;
  }
  shared_->kind = &kind;
  shared_->bytes = bytes;
  return Prepared::yes;
}

bool TimedThread::start(uint64_t patience_ns) {
  shared_->until_ns = monotonic_ns() + patience_ns;
  const Descriptors descriptors = shared_->kind->descriptors;
  shared_->own_descriptors = descriptors == Descriptors::of_maker && has_private_descriptors();
  started_ = start_helper_thread(kTimedStackBytes, run, shared_, &shared_->thread, descriptors);
  if (!started_) drop();
  return started_;
}

bool TimedThread::wait() {
  if (!started_) return false;
  while (shared_->stage.load(std::memory_order_acquire) == Shared::kWorking) {
    if (!futex_wait_until(shared_->stage, Shared::kWorking, shared_->until_ns)) return false;
  }
  return true;
}

// Of a thread that was never made.
void TimedThread::drop() NO_THREAD_SAFETY_ANALYSIS {
  if (shared_->kind->running != nullptr) shared_->kind->running->unlock();
  unmap_pages(shared_, shared_->bytes);
  shared_ = nullptr;
}

TimedThread::~TimedThread() {
  if (shared_ == nullptr) return;
  if (!started_) {
    drop();
    return;
  }
  const pthread_t thread = shared_->thread;  // the thread may give the pages back as soon as it is given up
  uint32_t stage = Shared::kWorking;
  if (shared_->stage.compare_exchange_strong(stage, Shared::kGivenUp, std::memory_order_acq_rel)) {
    pthread_detach(thread);
  } else {
    pthread_join(thread, nullptr);
    unmap_pages(shared_, shared_->bytes);
  }
}

}  // namespace tensorscope
