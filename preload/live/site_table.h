// SPDX-License-Identifier: Apache-2.0
// Allocation sites: each (native stack, Python stack) pair once, with exact counters.
//
// Context: hook. Look-up is lock-free; a pair that is new takes one spin lock. Counters are atomics, changed by the
// table that holds the entry, under the lock of the entry's shard: under all locks they agree with the tables. Memory
// comes out of Options::max_memory; when that is used up, new pairs are site 0 ("no stack") and coverage says so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "live/entries.h"
#include "stacks/capture.h"
#include "support/arena.h"
#include "support/ids.h"
#include "support/locks/spin_lock.h"
#include "support/raise_to.h"

namespace tensorscope::live {

class SiteTable {
 public:
  constexpr SiteTable() = default;

  // Makes site 0. False: no memory.
  bool start();

  SiteId intern(const stacks::Stack& stack);
  // Brings the site's counters into the cache.
  void prefetch(SiteId site) const { __builtin_prefetch(&counts(site), 1); }
  // A site of its own that has no stack; 0: no room.
  SiteId add_without_stack();

  void tensor_made(SiteId site);
  void tensor_gone(SiteId site);
  void tensor_never_made(SiteId site);
  void node_made(SiteId site);
  void allocation_made(SiteId site, uint64_t nbytes);
  void allocation_gone(SiteId site, uint64_t nbytes);

  // All counters as they are now are kept, instead of those that were kept before (peak.h). Lock-free: each site's next
  // event does it, for as long as there is none they are what they are.
  void keep_counters() { kept_.fetch_add(1, std::memory_order_relaxed); }
  // Of what was alive then. After allocation_gone().
  void kept_gone(SiteId site, uint64_t nbytes, PeakEnd end) {
    if (end == PeakEnd::unknown) return;
    chunk(site).kept[site & (kChunkSites - 1)].gone[size_t(end)].fetch_add(nbytes, std::memory_order_relaxed);
  }

  stacks::Stack stack_of(SiteId site) const { return {key(site).native, key(site).python}; }

  size_t size() const { return size_.load(std::memory_order_acquire); }
  // In a forked child: of what was made before, what is live is counted, and nothing else.
  void begin_in_child();
  // Copies the first `count` sites.
  void copy(SiteCounters* out, size_t count) const;

  bool lock_all() { return inserting_.lock(); }
  void unlock_all() NO_THREAD_SAFETY_ANALYSIS { inserting_.unlock(); }

 private:
  static constexpr unsigned kChunkBits = 10;
  static constexpr size_t kChunkSites = size_t{1} << kChunkBits;
  static constexpr size_t kMaxChunks = size_t{1} << 14;
  // A new pair goes into a bucket of the first level that has fewer pairs than buckets, and stays there: a look-up asks
  // the levels in turn, and its cost does not grow with the number of sites.
  static constexpr unsigned kLevels = 3;
  static constexpr unsigned kBucketBits[kLevels] = {16, 20, 24};

  struct Key {
    StackId native;
    StackId python;
    SiteId next;  // of the same bucket
  };
  // Live is what was made less what is gone, so that an event changes as few words as it can.
  struct alignas(64) Counts {
    std::atomic<uint64_t> tensors_made, tensors_gone;
    std::atomic<uint64_t> allocations_made, allocations_gone;
    std::atomic<uint64_t> bytes_live, bytes_gone, bytes_peak;
    std::atomic<uint32_t> kept;  // as of which keep_counters() the site has kept its own
    std::atomic<bool> has_nodes;
  };
  static_assert(sizeof(Counts) == 64);
  struct Kept {
    std::atomic<uint64_t> bytes, allocations;
    std::atomic<uint64_t> gone[kPeakEnds];
  };
  struct Chunk {
    Counts counts[kChunkSites];
    Kept kept[kChunkSites];
    Key keys[kChunkSites];
  };

  Chunk& chunk(SiteId site) const { return *chunks_[site >> kChunkBits].load(std::memory_order_acquire); }
  Key& key(SiteId site) const { return chunk(site).keys[site & (kChunkSites - 1)]; }
  Counts& counts(SiteId site) const { return chunk(site).counts[site & (kChunkSites - 1)]; }
  // Before an event changes the site's counters.
  void before_change(SiteId site, Counts& c) {
    const uint32_t kept = kept_.load(std::memory_order_relaxed);
    if (__builtin_expect(c.kept.load(std::memory_order_relaxed) != kept, false)) keep(site, c, kept);
  }
  [[gnu::noinline]] void keep(SiteId site, Counts& c, uint32_t kept);
  SiteId find(const stacks::Stack& stack, uint64_t hash) const;
  [[gnu::noinline]] SiteId add(const stacks::Stack& stack, uint64_t hash);
  SiteId append(const Key& key) REQUIRES(inserting_);
  std::atomic<SiteId>* level_for_one_more() REQUIRES(inserting_);

  std::atomic<uint32_t> kept_{0};  // how many times keep_counters() was called
  std::atomic<Chunk*> chunks_[kMaxChunks] = {};
  std::atomic<SiteId> first_level_[size_t{1} << kBucketBits[0]] = {};
  std::atomic<std::atomic<SiteId>*> more_levels_[kLevels - 1] = {};
  unsigned last_level_ GUARDED_BY(inserting_) = 0;
  std::atomic<uint32_t> size_{0};
  SpinLock inserting_;
  Arena arena_{Arena::Limit::max_memory};
};

extern SiteTable g_sites;

inline void SiteTable::tensor_made(SiteId site) { counts(site).tensors_made.fetch_add(1, std::memory_order_relaxed); }
inline void SiteTable::tensor_gone(SiteId site) { counts(site).tensors_gone.fetch_add(1, std::memory_order_relaxed); }

inline void SiteTable::tensor_never_made(SiteId site) {
  counts(site).tensors_made.fetch_sub(1, std::memory_order_relaxed);
}

inline void SiteTable::node_made(SiteId site) {
  std::atomic<bool>& has = counts(site).has_nodes;
  if (!has.load(std::memory_order_relaxed)) has.store(true, std::memory_order_relaxed);
}

inline void SiteTable::allocation_made(SiteId site, uint64_t nbytes) {
  Counts& c = counts(site);
  before_change(site, c);
  c.allocations_made.fetch_add(1, std::memory_order_relaxed);
  const uint64_t live = c.bytes_live.fetch_add(nbytes, std::memory_order_relaxed) + nbytes;
  fetch_max(c.bytes_peak, live);
}

inline void SiteTable::allocation_gone(SiteId site, uint64_t nbytes) {
  Counts& c = counts(site);
  before_change(site, c);
  c.allocations_gone.fetch_add(1, std::memory_order_relaxed);
  c.bytes_gone.fetch_add(nbytes, std::memory_order_relaxed);
  c.bytes_live.fetch_sub(nbytes, std::memory_order_relaxed);
}

}  // namespace tensorscope::live
