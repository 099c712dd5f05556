// SPDX-License-Identifier: Apache-2.0
// The frames that one thread's captures have met, at the places on the stack where they were met, each with its caller.
//
// A record is keyed by (ip, sp). It says where the caller's words are, and what they were: as long as they are the same
// the caller is the recorded one, and its trie node is too. A training loop meets the same few hundred records again
// and again. Context: hook; owned by its thread, no locks. Zeroed memory is an empty cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/ids.h"
#include "support/spread_bits.h"

namespace tensorscope::stacks {

// The registers of a frame as they are right after the call it made has returned.
struct FrameState {
  uint64_t ip = 0;  // the return address
  uint64_t sp = 0;  // the callee's CFA
  uint64_t bp = 0;
};

struct FrameRecord {
  uint64_t ip;
  uint64_t return_slot;     // where the return address to the caller is: 8 below the caller's sp
  uint32_t depth_words;     // sp = end of the thread's stack - 8 * depth_words
  uint16_t caller;          // record of the caller as last seen; 0: outermost
  uint8_t bp_words;         // the caller's RBP is at [caller's sp - 8 * bp_words]; 0: it is this frame's
  uint8_t from_bp : 1;      // the CFA depends on RBP: the record is good for FrameCache::bp() only
  uint8_t realigned : 1;    // the CFA is in [RBP - 8 * bp_words], the caller's RBP in [RBP]
  uint8_t guessed : 1;      // no unwind table describes the frame's code
  uint8_t watches_bp : 1;   // going to the caller must look at RBP: this frame or one further out depends on it
  uint8_t interpreter : 1;  // this frame and all further out are the Python interpreter's own (interpreter_code.h)
  uint8_t evaluates : 1;    // and this one is its evaluation function
  uint32_t tag;             // node of the stack from here outwards (0: the trie was full), and kNeedsBp
  uint32_t caller_tag;      // the caller's when `tag` and `watches_bp` were made

  static constexpr uint32_t kNeedsBp = 1u << 31;  // this frame's RBP enters its own or an outer CFA
  StackId node() const { return tag & ~kNeedsBp; }
  bool needs_bp() const { return (tag & kNeedsBp) != 0; }
};
static_assert(sizeof(FrameRecord) == 32);

// Of the frame's (ip, sp), in `bits` bits.
inline uint32_t frame_hash(uint64_t ip, uint32_t depth_words, unsigned bits) {
  return uint32_t(spread_bits(ip + (uint64_t{depth_words} << 32)) >> (64 - bits));
}

class FrameCache {
 public:
  static constexpr uint32_t kRecords = 8192;
  static_assert(kRecords <= 1 << 16);  // FrameRecord::caller

  FrameRecord& operator[](uint32_t index) { return records_[index]; }
  uint64_t& bp(uint32_t index) { return bps_[index]; }  // of a record that is from_bp

  // Index of the record, 0: none.
  uint32_t find(uint64_t ip, uint32_t depth_words) const {
    for (uint32_t bucket = first_bucket(ip, depth_words);; bucket = (bucket + 1) % kBuckets) {
      const uint32_t index = buckets_[bucket];
      if (index == 0 || (records_[index].ip == ip && records_[index].depth_words == depth_words)) return index;
    }
  }

  // Whether `count` more records fit. Where not: clear().
  bool has_room(uint32_t count) const { return used_ + count < kRecords; }
  // A new record for a key that is not there.
  uint32_t add(uint64_t ip, uint32_t depth_words);
  void clear();

 private:
  static constexpr unsigned kBucketBits = 14;
  static constexpr uint32_t kBuckets = 1 << kBucketBits;
  static_assert(kBuckets == 2 * kRecords);
  static uint32_t first_bucket(uint64_t ip, uint32_t depth_words) { return frame_hash(ip, depth_words, kBucketBits); }

  uint32_t used_;  // besides record 0, which stays empty
  FrameRecord records_[kRecords];
  uint32_t buckets_[kBuckets];
  uint64_t bps_[kRecords];
};

}  // namespace tensorscope::stacks
