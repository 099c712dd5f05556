#include "stacks/native/remembered_walks.h"

#include <algorithm>

#include "stacks/native/frame_walk.h"
#include "stacks/thread_stack.h"

namespace tensorscope::stacks {

namespace {

constexpr unsigned kLanes = 4;  // products that do not wait for one another

uint64_t hash_words(const FrameState& innermost, const uint16_t* offsets, unsigned words, bool uses_bp) {
  const auto* base = reinterpret_cast<const volatile uint64_t*>(innermost.sp);
  uint64_t a = uses_bp ? spread_bits(innermost.bp) : 0, b = 1, c = 2, d = 3;
  for (unsigned i = 0; i < words; i += kLanes) {
    a = (a ^ base[offsets[i]]) * 0x9e3779b97f4a7c15;
    b = (b ^ base[offsets[i + 1]]) * 0xd6e8feb86659fd93;
    c = (c ^ base[offsets[i + 2]]) * 0xa0761d6478bd642f;
    d = (d ^ base[offsets[i + 3]]) * 0xe7037ed1a0b428db;
  }
  return (a ^ b >> 32) + (c ^ d >> 29) * 0x8ebc6af09c88c6e3 + (b << 32 ^ d << 35);
}

}  // namespace

bool RememberedWalks::matches(const Entry& entry, const FrameState& innermost, uint32_t depth_words,
                              const Outside& outside) {
  return entry.ip == innermost.ip && entry.depth_words == depth_words && entry.outside_tag == outside.tag &&
         entry.outside_record == outside.record && entry.node != 0 &&
         hash_words(innermost, entry.offsets, entry.words, entry.uses_bp != 0) == entry.hash;
}

// A loop makes its walks in the same order again.
StackId RememberedWalks::find(const FrameState& innermost, uint32_t depth_words, const Outside& outside) {
  const uint32_t next = entries_[last_].next;
  if (__builtin_expect(matches(entries_[next], innermost, depth_words, outside), true)) {
    last_ = next;
    return entries_[next].node;
  }
  const uint32_t first = first_way(innermost.ip, depth_words);
  for (uint32_t i = first; i < first + kWays; ++i) {
    if (matches(entries_[i], innermost, depth_words, outside)) return found(i);
  }
  return 0;
}

// The words by which walk_frames() tells that the path is as its records say. False: there are too many.
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
  const FrameRecord& first = stack.cache[stack.path[0]];
  const uint32_t depth_words = stack.depth_words(innermost.sp);
  const uint32_t at = first_way(innermost.ip, depth_words) + added_ % kWays;
  Entry& entry = entries_[at];
  entry.node = 0;
  if (!list_words(stack, walk, innermost, entry)) return;
  ++added_;
  entry.ip = innermost.ip;
  entry.depth_words = depth_words;
  entry.outside_tag = outside.tag;
  entry.outside_record = uint16_t(outside.record);
  entry.uses_bp = first.needs_bp();
  entry.hash = hash_words(innermost, entry.offsets, entry.words, entry.uses_bp != 0);
  entry.node = first.node();
  found(at);
}

void RememberedWalks::clear() {
  if (added_ == 0) return;
  for (Entry& entry : entries_) entry.node = 0;
  added_ = 0;
}

}  // namespace tensorscope::stacks
