// SPDX-License-Identifier: Apache-2.0
#include "stacks/remembered_captures.h"

#include <algorithm>

#include "support/spread_bits.h"

namespace tensorscope::stacks {

// 0: it is not known, and `bucket` is where it goes.
uint32_t RememberedCaptures::find(const Pair& pair, uint16_t*& bucket) {
  const uint64_t key = uint64_t{pair.native} << 32 | pair.python;
  for (auto i = uint32_t(spread_bits(key) >> (64 - kBucketBits));; i = (i + 1) % kBuckets) {
    bucket = &buckets_[i];
    if (*bucket == 0) return 0;
    const Pair& known = pairs_[*bucket];
    if (known.native == pair.native && known.python == pair.python) return *bucket;
  }
}

uint32_t& RememberedCaptures::follow(const Pair& pair) {
  uint16_t* bucket = nullptr;
  uint32_t at = find(pair, bucket);
  const bool known = at != 0;
  if (!known) {
    if (used_ + 1 == kPairs) {
      std::fill(std::begin(buckets_), std::end(buckets_), 0);
      used_ = last_ = 0;
      find(pair, bucket);
    }
    *bucket = uint16_t(at = ++used_);
  }
  // A number may have come to be another stack's.
  if (!known || pairs_[at].python_node != pair.python_node || pairs_[at].native_node != pair.native_node)
    pairs_[at] = pair;
  after_[trail_] = uint16_t(at);
  return advance_to(at);
}

}  // namespace tensorscope::stacks
