// SPDX-License-Identifier: Apache-2.0
// Pairs of a Python and a native stack that a thread has captured before, and which came after which.
//
// A loop has its captures in the same order again. So the pair that came after the same few pairs the last time is
// compared first, at the places where its two stacks lay; both are known by number (python/remembered_stacks.h,
// native/remembered_walks.h). What is remembered here is a guess: whoever takes it has compared both stacks and their
// nodes.
//
// For the captures A B C A B, of which C is to come:
//
//     pairs_   1: A   2: B   3: C           each pair once, found by its two numbers through buckets_
//     trail_   = 1 2 3 1 2, a few bits of each, the newest in full
//     after_   [trail of "... 3 1 2"] = 3   set when C came after this trail the last time
//     next_    = 3                          next() is C: its stacks are compared before anything is searched
//
// If the comparison fails, follow() searches, and after_[trail_] is set to what has come.
//
// Context: hook; owned by its thread, no locks. Zeroed memory has no pairs.
#pragma once

#include <cstdint>

#include "support/ids.h"
#include "support/spread_bits.h"

namespace tensorscope::stacks {

// Instead of a stack's number: it is not remembered.
inline constexpr uint32_t kNoNumber = UINT32_MAX;

class RememberedCaptures {
 public:
  struct alignas(32) Pair {
    uint32_t python;  // number of the stack; kNoNumber: there is none
    uint32_t native;
    StackId python_node;
    StackId native_node;  // 0: there is no pair
    uint32_t note = 0;    // of whoever captured
  };

  const Pair& last() const { return pairs_[last_]; }
  // What the next capture most likely is.
  const Pair& next() const { return pairs_[next_]; }
  // It was that. Returns its note.
  uint32_t& take_next() { return advance_to(next_); }
  // It was another: these stacks, `note` 0; only the Python one may be none. Returns its note.
  uint32_t& follow(const Pair& pair);

 private:
  static constexpr uint32_t kPairs = 4096;  // once they are used up, all are forgotten
  static constexpr unsigned kBucketBits = 13;
  static constexpr uint32_t kBuckets = 1 << kBucketBits;

  // The last seven pairs in one number, the older ones in fewer bits: enough to tell the rounds of most loops apart.
  static constexpr unsigned kTrailBits = 13, kBitsOfNewest = 2;

  uint32_t find(const Pair& pair, uint16_t*& bucket);
  uint32_t& advance_to(uint32_t at) {
    last_ = at;
    trail_ = (trail_ << kBitsOfNewest ^ uint32_t(spread_bits(at) >> (64 - kTrailBits))) % (1u << kTrailBits);
    next_ = after_[trail_];
    return pairs_[at].note;
  }

  uint32_t last_;
  uint32_t next_;
  uint32_t trail_;
  uint32_t used_;  // besides pair 0, which stays empty
  Pair pairs_[kPairs];
  uint16_t buckets_[kBuckets];       // pairs by the numbers of their stacks; 0: free
  uint16_t after_[1 << kTrailBits];  // which came after a trail the last time
};

}  // namespace tensorscope::stacks
