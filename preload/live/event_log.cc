#include "live/event_log.h"

#include <string.h>

#include "support/pages.h"
#include "support/spin_lock.h"

namespace tensorscope::live {

constinit std::atomic<bool> g_events_wanted{false};

namespace {

struct alignas(64) Lane {
  SpinLock lock;
  EventBlock* first = nullptr;
  EventBlock* last = nullptr;
};

// Blocks that wait for their next use, so that a steady program maps no pages. A lane's lock may be held.
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
    if (!guard || count_ == kMost) return false;
    block->next = first_;
    first_ = block;
    ++count_;
    return true;
  }
  void forget() {
    first_ = nullptr;
    count_ = 0;
  }

 private:
  static constexpr size_t kMost = 64;
  SpinLock lock_;
  EventBlock* first_ = nullptr;
  size_t count_ = 0;
};

// So many full blocks wake the writer: fewer calls of the system for the program, and 4 MiB of memory.
constexpr size_t kWakeAt = 16;

constinit Lane g_lanes[kEventLanes];
constinit Spares g_spares;
constinit std::atomic<size_t> g_blocks{0}, g_most_blocks{0};
constinit std::atomic<size_t> g_full{0};
constinit std::atomic<uint64_t> g_lost{0};
void (*g_wake)() = nullptr;

EventBlock* new_block() {
  if (EventBlock* const spare = g_spares.take()) return spare;
  if (g_blocks.fetch_add(1, std::memory_order_relaxed) < g_most_blocks.load(std::memory_order_relaxed)) {
    if (void* pages = map_pages(EventBlock::kBytes)) return static_cast<EventBlock*>(pages);
  }
  g_blocks.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

// False: they did not fit. `full`: a block has become full.
bool add(Lane& lane, const Event* events, size_t count, bool& full) {
  if (!lane.last || lane.last->used + count > EventBlock::kEvents) {
    EventBlock* block = new_block();
    if (!block) return false;
    block->next = nullptr;
    block->used = 0;
    full = lane.last != nullptr;
    (lane.last ? lane.last->next : lane.first) = block;
    lane.last = block;
  }
  memcpy(lane.last->events + lane.last->used, events, count * sizeof(Event));
  lane.last->used += count;
  return true;
}

}  // namespace

void note_events(const Event* events, size_t count) {
  Lane& lane = g_lanes[events->thread % kEventLanes];
  bool full = false;
  {
    const SpinGuard guard(lane.lock);
    if (!guard || !add(lane, events, count, full)) g_lost.fetch_add(count, std::memory_order_relaxed);
  }
  if (full && g_full.fetch_add(1, std::memory_order_relaxed) + 1 == kWakeAt && g_wake) g_wake();
}

void want_events(size_t most_bytes, void (*wake)()) {
  g_wake = wake;
  g_most_blocks.store(most_bytes / EventBlock::kBytes, std::memory_order_relaxed);
  g_events_wanted.store(true, std::memory_order_release);
}

void want_no_events() { g_events_wanted.store(false, std::memory_order_release); }

EventBlock* take_events(unsigned lane) {
  Lane& from = g_lanes[lane];
  const SpinGuard guard(from.lock);
  if (!guard) return nullptr;
  EventBlock* blocks = from.first;
  from.first = from.last = nullptr;
  g_full.store(0, std::memory_order_relaxed);
  return blocks;
}

void give_back(EventBlock* blocks) {
  while (blocks) {
    EventBlock* block = blocks;
    blocks = blocks->next;
    if (g_spares.keep(block)) continue;
    unmap_pages(block, EventBlock::kBytes);
    g_blocks.fetch_sub(1, std::memory_order_relaxed);
  }
}

uint64_t lost_events() { return g_lost.load(std::memory_order_relaxed); }

void events_after_fork_in_child() {
  for (Lane& lane : g_lanes) {
    lane.first = lane.last = nullptr;
  }
  g_spares.forget();
  g_full.store(0, std::memory_order_relaxed);
  g_blocks.store(0, std::memory_order_relaxed);
  g_lost.store(0, std::memory_order_relaxed);
}

}  // namespace tensorscope::live
