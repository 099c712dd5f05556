// SPDX-License-Identifier: Apache-2.0
#include "stacks/native/frame_cache.h"

#include <cstring>

namespace tensorscope::stacks {

uint32_t FrameCache::add(uint64_t ip, uint32_t depth_words) {
  uint32_t bucket = first_bucket(ip, depth_words);
  while (buckets_[bucket] != 0) bucket = (bucket + 1) % kBuckets;
  const uint32_t index = ++used_;
  buckets_[bucket] = index;
  records_[index] = {};
  records_[index].ip = ip;
  records_[index].depth_words = depth_words;
  return index;
}

void FrameCache::clear() {
  used_ = 0;
  memset(buckets_, 0, sizeof buckets_);
}

}  // namespace tensorscope::stacks
