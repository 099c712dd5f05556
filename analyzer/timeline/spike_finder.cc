// SPDX-License-Identifier: Apache-2.0
#include "timeline/spike_finder.h"

#include <algorithm>

namespace tensorscope::analyzer {

namespace {

constexpr size_t kMaxSpikes = 10;

}  // namespace

void SpikeFinder::change(uint64_t bytes, uint64_t ns, uint64_t events, uint64_t step, uint32_t site) {
  if (bytes > top_.bytes || (!rising_ && bytes > bytes_)) {
    if (!rising_) {
      low_ = bytes_;
      begin_ns_ = ns_ != 0 ? ns_ : ns;
      top_ = {};
    }
    rising_ = true;
    if (bytes > top_.bytes) top_ = {bytes, ns, events, step, site};
  } else if (rising_ && bytes < top_.bytes && top_.bytes - bytes >= (top_.bytes - low_) / 2) {
    // Most of the rise is gone.
    const uint64_t side = std::max(low_, bytes);
    keep({begin_ns_, std::max(ns, begin_ns_), top_.ns, top_.events, top_.bytes - side, top_.step, top_.site, {}});
    rising_ = false;
    top_ = {};
  }
  bytes_ = bytes;
  ns_ = ns;
}

void SpikeFinder::keep(const Spike& spike) {
  const auto at = std::upper_bound(out_.begin(), out_.end(), spike,
                                   [](const Spike& a, const Spike& b) { return a.bytes > b.bytes; });
  if (at == out_.end() && out_.size() == kMaxSpikes) return;
  out_.insert(at, spike);
  if (out_.size() > kMaxSpikes) out_.pop_back();
}

}  // namespace tensorscope::analyzer
