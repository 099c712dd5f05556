// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/remembered_walks.h"

#include <algorithm>

#include "stacks/native/frame_walk.h"
#include "stacks/thread_stack.h"

namespace tensorscope::stacks {

namespace {

constexpr unsigned kLanes = 4;      // products that do not wait for one another
constexpr unsigned kHeadWords = 8;  // of the innermost frames: most walks differ in these
// Where more walks alternate than there is room for, each would push out the one that comes next: most are refused.
constexpr uint32_t kReplaceEvery = 8;
// Nor is it worth looking each time while less than half of the walks are known.
constexpr uint32_t kMaxMissed = 32, kTriesFrom = 24, kTryEvery = 8;

}  // namespace

struct RememberedWalks::WordHash {
  using StackWord [[gnu::may_alias]] = uint64_t;
  uint64_t a, b = 1, c = 2, d = 3;

  explicit WordHash(uint64_t seed) : a(seed) {}
  // Where the stack is another one, the places may be anything of it: a sanitizer's gap, a variable of other threads.
  [[gnu::no_sanitize("address", "thread")]] void add(uint64_t sp, const uint16_t* offsets, unsigned words) {
    const auto* base = reinterpret_cast<const StackWord*>(sp);
    for (const uint16_t* const end = offsets + words; offsets != end; offsets += kLanes) {
      a = (a ^ base[offsets[0]]) * 0x9e3779b97f4a7c15;
      b = (b ^ base[offsets[1]]) * 0xd6e8feb86659fd93;
      c = (c ^ base[offsets[2]]) * 0xa0761d6478bd642f;
      d = (d ^ base[offsets[3]]) * 0xe7037ed1a0b428db;
    }
  }
  uint64_t value() const { return (a ^ b >> 32) + (c ^ d >> 29) * 0x8ebc6af09c88c6e3 + (b << 32 ^ d << 35); }
};

RememberedWalks::WordHash RememberedWalks::begin_hash(const Entry& entry, const FrameState& innermost) {
  return WordHash(entry.uses_bp != 0 ? spread_bits(innermost.bp) : 0);
}

RememberedWalks::WordHash RememberedWalks::hash_head(const Entry& entry, const FrameState& innermost) {
  WordHash hash = begin_hash(entry, innermost);
  hash.add(innermost.sp, entry.offsets, std::min<unsigned>(entry.words, kHeadWords));
  return hash;
}

void RememberedWalks::hash_rest(const Entry& entry, const FrameState& innermost, WordHash& hash) {
  if (entry.words > kHeadWords) hash.add(innermost.sp, entry.offsets + kHeadWords, entry.words - kHeadWords);
}

bool RememberedWalks::matches(const Entry& entry, const FrameState& innermost, uint32_t depth_words,
                              const Outside& outside) {
  if (entry.ip != innermost.ip || entry.depth_words != depth_words || entry.outside_tag != outside.tag ||
      entry.outside_record != outside.record || entry.node == 0) {
    return false;
  }
  WordHash hash = hash_head(entry, innermost);
  if (uint32_t(hash.value()) != entry.head) return false;
  hash_rest(entry, innermost, hash);
  return hash.value() == entry.hash;
}

// All words at once: most likely it is this one.
bool RememberedWalks::is_at(uint32_t number, StackId node, const FrameState& innermost, uint32_t depth_words,
                            FrameCache& cache) const {
  const Entry& entry = entries_[number];
  if (__builtin_expect(entry.ip != innermost.ip || entry.depth_words != depth_words || entry.node != node, false))
    return false;
  if (__builtin_expect(cache[entry.outside_record].tag != entry.outside_tag, false)) return false;
  WordHash hash = begin_hash(entry, innermost);
  hash.add(innermost.sp, entry.offsets, entry.words);
  return hash.value() == entry.hash;
}

StackId RememberedWalks::find(const FrameState& innermost, uint32_t depth_words, const Outside& outside) {
  looked_ = missed_ < kTriesFrom || ++captures_ % kTryEvery == 0;
  if (!looked_) return 0;
  const uint32_t first = first_way(innermost.ip, depth_words);
  for (uint32_t i = first; i < first + kWays; ++i) {
    if (!matches(entries_[i], innermost, depth_words, outside)) continue;
    missed_ -= missed_ != 0;
    last_ = i;
    return entries_[i].node;
  }
  missed_ += missed_ != kMaxMissed;
  return 0;
}

// Lists the words from which walk_frames() knows that the path is as its records say. Returns false if there are too
// many.
bool RememberedWalks::list_words(ThreadStack& stack, const Walk& walk, const FrameState& innermost, Entry& entry) {
  uint32_t words = 0;
  const uint64_t room = std::min<uint64_t>(stack.depth_words(innermost.sp), UINT16_MAX + 1);
  const auto add = [&](uint64_t address) {
    const uint64_t offset = (address - innermost.sp) / 8;
    if (offset >= room || words == kWords) return false;
    entry.offsets[words++] = uint16_t(offset);
    return true;
  };
  uint64_t bp = innermost.bp;
  for (int i = 0; i + 1 < walk.frames; ++i) {
    const FrameRecord& frame = stack.cache[stack.path[i]];
    if (!add(frame.return_slot)) return false;
    if (frame.watches_bp == 0) continue;
    if (frame.realigned != 0 && !add(bp - 8 * uint64_t{frame.bp_words})) return false;
    if (frame.realigned == 0 && frame.bp_words == 0) continue;
    const uint64_t slot = frame.realigned != 0 ? bp : frame.return_slot + 8 - 8 * uint64_t{frame.bp_words};
    if (!add(slot)) return false;
    bp = *reinterpret_cast<const volatile uint64_t*>(slot);
  }
  while (words % kLanes != 0) {
    if (!add(innermost.sp + 8 * uint64_t{entry.offsets[words - 1]})) return false;
  }
  entry.words = uint8_t(words);
  return words != 0;
}

void RememberedWalks::remember(ThreadStack& stack, const Walk& walk, const FrameState& innermost,
                               const Outside& outside) {
  if (!looked_ || uint32_t(walk.frames) > kWords) return;
  const FrameRecord& first = stack.cache[stack.path[0]];
  const uint32_t depth_words = stack.depth_words(innermost.sp);
  uint32_t at = first_way(innermost.ip, depth_words);
  const uint32_t end = at + kWays;
  while (at < end && entries_[at].node != 0) ++at;
  if (at == end) {
    if (++refused_ % kReplaceEvery != 0) return;
    at -= 1 + refused_ / kReplaceEvery % kWays;
  }
  Entry& entry = entries_[at];
  entry.node = 0;
  if (!list_words(stack, walk, innermost, entry)) return;
  entry.ip = innermost.ip;
  entry.depth_words = depth_words;
  entry.outside_tag = outside.tag;
  entry.outside_record = uint16_t(outside.record);
  entry.uses_bp = first.needs_bp();
  WordHash hash = hash_head(entry, innermost);
  entry.head = uint32_t(hash.value());
  hash_rest(entry, innermost, hash);
  entry.hash = hash.value();
  entry.node = first.node();
  any_ = true;
  last_ = at;
}

void RememberedWalks::clear() {
  if (!any_) return;
  for (Entry& entry : entries_) entry.node = 0;
  any_ = false;
}

}  // namespace tensorscope::stacks
