// SPDX-License-Identifier: Apache-2.0
// Walks that a thread has made before: which words of the stack each was read from, and a hash of what they were.
//
// A walk from an innermost frame out to a trusted record (frame_walk.h) is a function of that frame's registers, of the
// rules, and of the words at the places that the rules name. So where the frame and the trusted record are the same,
// and the same places hold the same words, the stack is the same. What frame_walk.cc reads from one record a frame
// takes two bytes a word here: one or two cache lines a walk. Stacks whose words hash alike would be taken for one
// another: one pair in 2^64.
//
//      the thread's stack            one Entry
//      (addresses grow upwards)
//     | trusted frame      |   <---  outside_record, outside_tag: the walk ends there
//     |--------------------|
//     | return address     |   <---  offsets[2]
//     | saved RBP          |   <---  offsets[1], only of frames whose rules name it
//     |--------------------|
//     | return address     |   <---  offsets[0]
//     | ...                |         hash = hash of the words at all offsets (and of RBP, if uses_bp)
//     | innermost frame    |   <---  ip, depth_words: they choose the set of 8 entries
//
// Context: hook; owned by its thread, no locks. Zeroed memory has no walks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stacks/native/frame_cache.h"
#include "stacks/remembered_captures.h"
#include "support/ids.h"

namespace tensorscope::stacks {

struct Walk;
struct ThreadStack;

class RememberedWalks {
 public:
  // The record that a walk ends with, and the stack that it stood for; none: it goes out to the outermost frame.
  struct Outside {
    uint32_t record = 0;
    uint32_t tag = 0;
  };

  // Node of the stack of `innermost`, which is at `depth_words`; 0: not known.
  StackId find(const FrameState& innermost, uint32_t depth_words, const Outside& outside);
  // Whether the stack of `innermost` is the walk of this number, for which `node` was returned, and the record that it
  // ends with stands for what it stood for then.
  bool is_at(uint32_t number, StackId node, const FrameState& innermost, uint32_t depth_words, FrameCache& cache) const;
  // Of the one that was found or remembered last; kNoNumber: it does not stand for `node`.
  uint32_t last(StackId node) const { return entries_[last_].node == node ? last_ : kNoNumber; }
  // What runs until the next capture pushes it out of the nearer caches.
  void prefetch(uint32_t number) const {
    const auto* entry = reinterpret_cast<const char*>(&entries_[number]);
    for (size_t at = 0; at < kPrefetched; at += alignof(Entry)) __builtin_prefetch(entry + at);
  }
  // After a walk from `innermost` that ends with `outside`, and whose path is records that have their nodes.
  void remember(ThreadStack& stack, const Walk& walk, const FrameState& innermost, const Outside& outside);
  void clear();

 private:
  static constexpr uint32_t kWords = 140;  // a walk that reads more is not remembered
  static constexpr unsigned kSetBits = 7;
  static constexpr uint32_t kWays = 8;
  static constexpr size_t kPrefetched = 192;  // bytes of an entry: those of 76 words

  struct WordHash;
  struct alignas(64) Entry {
    uint64_t ip;
    uint64_t hash;
    uint32_t head;  // hash of the first words
    uint32_t depth_words;
    uint32_t outside_tag;
    StackId node;  // 0: the entry is free
    uint16_t outside_record;
    uint8_t words;             // a multiple of kLanes
    uint8_t uses_bp;           // the walk depends on the innermost frame's RBP
    uint16_t offsets[kWords];  // in words, from the innermost frame's sp
  };

  static WordHash begin_hash(const Entry& entry, const FrameState& innermost);
  static WordHash hash_head(const Entry& entry, const FrameState& innermost);
  static void hash_rest(const Entry& entry, const FrameState& innermost, WordHash& hash);
  static bool matches(const Entry& entry, const FrameState& innermost, uint32_t depth_words, const Outside& outside);
  static bool list_words(ThreadStack& stack, const Walk& walk, const FrameState& innermost, Entry& entry);
  static uint32_t first_way(uint64_t ip, uint32_t depth_words) { return frame_hash(ip, depth_words, kSetBits) * kWays; }

  uint32_t last_;      // the entry that was found or made last
  uint32_t missed_;    // of late, less those that were found
  uint32_t captures_;  // while few are found
  uint32_t refused_;
  bool looked_;  // for the present walk
  bool any_;
  Entry entries_[kWays << kSetBits];
};

}  // namespace tensorscope::stacks
