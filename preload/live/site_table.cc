// SPDX-License-Identifier: Apache-2.0
#include "live/site_table.h"

#include "live/lock_failure.h"
#include "support/coverage.h"
#include "support/spread_bits.h"

namespace tensorscope::live {

constinit SiteTable g_sites;

namespace {

void count_missed_stacks() {
  for (Subject subject : {Subject::native_stacks, Subject::python_stacks}) count_missed(subject);
}

uint64_t hash_of(const stacks::Stack& stack) { return spread_bits(uint64_t{stack.native} << 32 | stack.python); }

size_t bucket_of(uint64_t hash, unsigned bits) { return size_t(hash >> 40) & ((size_t{1} << bits) - 1); }

}  // namespace

bool SiteTable::start() {
  if (size() != 0) return true;
  auto* first = arena_.allocate_array<Chunk>(1);
  if (first == nullptr) return false;
  chunks_[0].store(first, std::memory_order_release);
  size_.store(1, std::memory_order_release);
  return true;
}

SiteId SiteTable::find(const stacks::Stack& stack, uint64_t hash) const {
  for (unsigned level = 0; level < kLevels; ++level) {
    const std::atomic<SiteId>* buckets =
        level == 0 ? first_level_ : more_levels_[level - 1].load(std::memory_order_acquire);
    if (buckets == nullptr) break;
    SiteId site = buckets[bucket_of(hash, kBucketBits[level])].load(std::memory_order_acquire);
    for (; site != 0; site = key(site).next) {
      if (key(site).native == stack.native && key(site).python == stack.python) return site;
    }
  }
  return 0;
}

SiteId SiteTable::intern(const stacks::Stack& stack) {
  if (stack.native == 0 && stack.python == 0) return 0;
  const uint64_t hash = hash_of(stack);
  const SiteId site = find(stack, hash);
  return site != 0 ? site : add(stack, hash);
}

SiteId SiteTable::add(const stacks::Stack& stack, uint64_t hash) {
  SpinGuard guard(inserting_);
  if (!guard) {
    give_up_on_locks();
    return 0;
  }
  if (const SiteId known = find(stack, hash); known != 0) return known;
  std::atomic<SiteId>* buckets = level_for_one_more();
  std::atomic<SiteId>& bucket = buckets[bucket_of(hash, kBucketBits[last_level_])];
  const SiteId site = append({stack.native, stack.python, bucket.load(std::memory_order_relaxed)});
  if (site != 0) bucket.store(site, std::memory_order_release);
  return site;
}

// Without memory for the next level the last one takes more.
std::atomic<SiteId>* SiteTable::level_for_one_more() {
  static_assert(kBucketBits[kLevels - 1] <= 24, "hash bits that bucket_of has");
  size_t room = 0;
  for (unsigned level = 0; level <= last_level_; ++level) room += size_t{1} << kBucketBits[level];
  if (size_.load(std::memory_order_relaxed) > room && last_level_ + 1 < kLevels) {
    auto* fresh = arena_.allocate_array<std::atomic<SiteId>>(size_t{1} << kBucketBits[last_level_ + 1]);
    if (fresh != nullptr) more_levels_[last_level_++].store(fresh, std::memory_order_release);
  }
  return last_level_ == 0 ? first_level_ : more_levels_[last_level_ - 1].load(std::memory_order_relaxed);
}

SiteId SiteTable::add_without_stack() {
  SpinGuard guard(inserting_);
  return guard ? append({}) : 0;
}

// Under the lock.
SiteId SiteTable::append(const Key& stack) {
  const SiteId site = size_.load(std::memory_order_relaxed);
  const size_t chunk = site >> kChunkBits;
  if (chunk == kMaxChunks) {
    for (Subject subject : {Subject::native_stacks, Subject::python_stacks}) {
      if (coverage(subject).seen.load(std::memory_order_acquire) != Seen::yes) continue;
      set_coverage(subject, Seen::partly, "16,777,216 sites are recorded: new ones are left out");
    }
    count_missed_stacks();
    return 0;
  }
  if (chunks_[chunk].load(std::memory_order_relaxed) == nullptr) {
    auto* fresh = arena_.allocate_array<Chunk>(1);
    if (fresh == nullptr) {
      count_missed_stacks();
      return 0;
    }
    chunks_[chunk].store(fresh, std::memory_order_release);
  }
  key(site) = stack;
  size_.store(site + 1, std::memory_order_release);
  return site;
}

// Of several threads with an event of one site, the first one keeps its counters.
void SiteTable::keep(SiteId site, Counts& c, uint32_t kept) {
  uint32_t known = c.kept.load(std::memory_order_relaxed);
  if (known == kept || !c.kept.compare_exchange_strong(known, kept, std::memory_order_relaxed)) return;
  Kept& of_site = chunk(site).kept[site & (kChunkSites - 1)];
  const uint64_t gone = c.allocations_gone.load(std::memory_order_relaxed);
  of_site.bytes.store(c.bytes_live.load(std::memory_order_relaxed), std::memory_order_relaxed);
  of_site.allocations.store(c.allocations_made.load(std::memory_order_relaxed) - gone, std::memory_order_relaxed);
  for (std::atomic<uint64_t>& bytes : of_site.gone) bytes.store(0, std::memory_order_relaxed);
}

void SiteTable::begin_in_child() {
  const auto drop = [](std::atomic<uint64_t>& made, std::atomic<uint64_t>& removed) {
    made.fetch_sub(removed.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
  };
  for (SiteId site = 0; site < size(); ++site) {
    Counts& c = counts(site);
    drop(c.tensors_made, c.tensors_gone);
    drop(c.allocations_made, c.allocations_gone);
    c.bytes_gone.store(0, std::memory_order_relaxed);
    c.bytes_peak.store(c.bytes_live.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

void SiteTable::copy(SiteCounters* out, size_t count) const {
  const uint32_t kept = kept_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < count; ++i) {
    const auto site = SiteId(i);
    const Key& k = key(site);
    const Counts& c = counts(site);
    const auto load = [](const std::atomic<uint64_t>& word) { return word.load(std::memory_order_relaxed); };
    SiteCounters& row = out[i];
    row.native = k.native;
    row.python = k.python;
    row.tensors_total = load(c.tensors_made);
    row.tensors_live = row.tensors_total - load(c.tensors_gone);
    row.allocations_total = load(c.allocations_made);
    row.allocations_live = row.allocations_total - load(c.allocations_gone);
    row.bytes_live = load(c.bytes_live);
    row.bytes_total = row.bytes_live + load(c.bytes_gone);
    row.bytes_peak = load(c.bytes_peak);
    row.has_nodes = c.has_nodes.load(std::memory_order_relaxed);
    const Kept& of_site = chunk(site).kept[i & (kChunkSites - 1)];
    const bool unchanged = c.kept.load(std::memory_order_relaxed) != kept;
    row.bytes_kept = unchanged ? row.bytes_live : load(of_site.bytes);
    row.allocations_kept = unchanged ? row.allocations_live : load(of_site.allocations);
    for (size_t end = 0; end < kPeakEnds; ++end) row.kept_gone[end] = unchanged ? 0 : load(of_site.gone[end]);
  }
}

}  // namespace tensorscope::live
