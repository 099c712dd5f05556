// SPDX-License-Identifier: Apache-2.0
// Finds moments at which more was live than on both sides.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/memory_timeline.h"

namespace tensorscope::analyzer {

class SpikeFinder {
 public:
  // Keeps the highest in `out`.
  explicit SpikeFinder(std::vector<Spike>& out) : out_(out) {}

  // Live bytes change to `bytes` at this moment.
  void change(uint64_t bytes, uint64_t ns, uint64_t events, uint64_t step, uint32_t site);

 private:
  struct Top {
    uint64_t bytes = 0, ns = 0, events = 0, step = 0;
    uint32_t site = 0;
  };
  void keep(const Spike& spike);

  std::vector<Spike>& out_;
  uint64_t bytes_ = 0, ns_ = 0, low_ = 0, begin_ns_ = 0;
  bool rising_ = false;
  Top top_;
};

}  // namespace tensorscope::analyzer
