// SPDX-License-Identifier: Apache-2.0
#include "live/event_log.h"

#include "live/thread_table.h"
#include "support/fresh_in_child.h"
#include "support/locks/spin_lock.h"
#include "support/pages.h"

namespace tensorscope::live {

constinit std::atomic<bool> g_events_wanted{false};

namespace {

struct Lane {
  alignas(64) std::atomic<ThreadId> owner{0};
  SpinLock lock;  // of who writes, in a lane that threads share
  EventBlock* last = nullptr;
  alignas(64) std::atomic<EventBlock*> first{nullptr};
  EventBlock* reading = nullptr;  // and what follows: the reader's
  size_t read = 0;
};

// Blocks that wait for their next use, so that a steady program maps no pages. A shared lane's lock may be held.
class Spares {
 public:
  EventBlock* take() {
    const SpinGuard guard(lock_);
    if (!guard || first_ == nullptr) return nullptr;
    EventBlock* const block = first_;
    first_ = block->next;
    --count_;
    return block;
  }
  bool keep(EventBlock* block) {
    const SpinGuard guard(lock_);
    if (!guard || count_ == kMax) return false;
    block->next = first_;
    first_ = block;
    ++count_;
    return true;
  }

 private:
  static constexpr size_t kMax = 64;
  SpinLock lock_;
  EventBlock* first_ GUARDED_BY(lock_) = nullptr;
  size_t count_ GUARDED_BY(lock_) = 0;
};

// So many full blocks wake the writer: fewer calls of the system for the program, and 4 MiB of memory.
constexpr size_t kWakeAt = 16;

constinit std::atomic<size_t> g_most_blocks{0};
void (*g_wake)() = nullptr;

// A forked child leaves the parent's blocks: another thread may have been in the middle of one.
struct EventLog {
  Lane lanes[kEventLanes];
  Spares spares;
  std::atomic<size_t> blocks{0};
  std::atomic<size_t> full{0};
  std::atomic<uint64_t> lost{0};
};
constinit EventLog g_log;
FreshInChild g_fresh_log{g_log};

EventBlock* new_block() {
  if (EventBlock* const spare = g_log.spares.take()) return spare;
  if (g_log.blocks.fetch_add(1, std::memory_order_relaxed) < g_most_blocks.load(std::memory_order_relaxed)) {
    if (void* pages = map_pages(EventBlock::kBytes)) return static_cast<EventBlock*>(pages);
  }
  g_log.blocks.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

void give_back(EventBlock* block) {
  if (g_log.spares.keep(block)) return;
  unmap_pages(block, EventBlock::kBytes);
  g_log.blocks.fetch_sub(1, std::memory_order_relaxed);
}

// The reader had these lines last. They are asked for before they are needed.
constexpr size_t kEventsAhead = 4;
void prefetch_for_writing(const void* line) {
#ifdef __x86_64__
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));  // no operation where there is none
#else
  __builtin_prefetch(line, 1);
#endif
}

// False: they did not fit. `full`: a block has become full.
bool add(Lane& lane, const Event* events, size_t count, bool& full) {
  EventBlock* block = lane.last;
  size_t used = block != nullptr ? block->used.load(std::memory_order_relaxed) : EventBlock::kEvents;
  if (used + count > EventBlock::kEvents) {
    EventBlock* const fresh = new_block();
    if (fresh == nullptr) return false;
    fresh->next.store(nullptr, std::memory_order_relaxed);
    fresh->used.store(0, std::memory_order_relaxed);
    full = block != nullptr;
    (full ? block->next : lane.first).store(fresh, std::memory_order_release);
    lane.last = block = fresh;
    used = 0;
  }
  Event* const to = block->events + used;
  for (size_t i = 0; i < count; ++i) to[i] = events[i];
  block->used.store(used + count, std::memory_order_release);
  prefetch_for_writing(to + count + kEventsAhead);
  return true;
}

// Whether the thread has the lane for itself from now on, or had it before.
bool owns(Lane& lane, ThreadId thread) {
  ThreadId owner = lane.owner.load(std::memory_order_relaxed);
  return owner == thread || (owner == 0 && lane.owner.compare_exchange_strong(owner, thread));
}

}  // namespace

void note_events(const Event* events, size_t count) {
  const ThreadId thread = events->thread;
  Lane* lane = g_log.lanes + thread % kOwnEventLanes;
  bool full = false, added = false;
  if (__builtin_expect(ThreadTable::is_one_thread(thread) && owns(*lane, thread), true)) {
    added = add(*lane, events, count, full);
  } else {
    lane = g_log.lanes + kOwnEventLanes + thread % kSharedEventLanes;
    const SpinGuard guard(lane->lock);
    added = guard && add(*lane, events, count, full);
  }
  if (!added) g_log.lost.fetch_add(count, std::memory_order_relaxed);
  if (full && g_log.full.fetch_add(1, std::memory_order_relaxed) + 1 == kWakeAt && g_wake) g_wake();
}

void want_events(size_t most_bytes, void (*wake)()) {
  g_wake = wake;
  g_most_blocks.store(most_bytes / EventBlock::kBytes, std::memory_order_relaxed);
  g_events_wanted.store(true, std::memory_order_release);
}

void want_no_events() { g_events_wanted.store(false, std::memory_order_release); }

EventsEnd events_end(unsigned lane) {
  Lane& from = g_log.lanes[lane];
  g_log.full.store(0, std::memory_order_relaxed);
  if (from.reading == nullptr) from.reading = from.first.load(std::memory_order_acquire);
  EventBlock* last = from.reading;
  if (last == nullptr) return {};
  while (EventBlock* const next = last->next.load(std::memory_order_acquire)) last = next;
  return {last, last->used.load(std::memory_order_acquire)};
}

EventSpan next_events(unsigned lane, const EventsEnd& end) {
  Lane& from = g_log.lanes[lane];
  if (end.block == nullptr) return {};
  while (true) {
    EventBlock* const block = from.reading;
    const size_t until = block == end.block ? end.used : block->used.load(std::memory_order_relaxed);
    if (from.read < until) {
      const EventSpan span = {block->events + from.read, until - from.read};
      from.read = until;
      return span;
    }
    if (block == end.block) return {};
    from.reading = block->next.load(std::memory_order_relaxed);
    from.read = 0;
    give_back(block);
  }
}

uint64_t lost_events() { return g_log.lost.load(std::memory_order_relaxed); }

}  // namespace tensorscope::live
