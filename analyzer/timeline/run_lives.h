// SPDX-License-Identifier: Apache-2.0
// How each allocation of a recording ended, by its serial, in a byte each.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "dump/allocation_life.h"
#include "recording/life_tracker.h"

namespace tensorscope::analyzer {

class RunLives {
 public:
  void note(const format::RecordedEvent& event) { tracker_.note(event); }
  void freed(uint64_t serial) {
    const AllocationLife life = tracker_.life(serial, true);
    blocks_[serial / kBlock][serial % kBlock] =
        uint8_t(kFreed | (life.past_step ? kPastStep : 0) | (life.past_backward ? kPastBackward : 0));
  }
  // Once the whole recording was seen.
  AllocationLife life(uint64_t serial) const {
    const auto block = blocks_.find(serial / kBlock);
    const uint8_t word = block == blocks_.end() ? uint8_t(0) : block->second[serial % kBlock];
    if ((word & kFreed) == 0) return tracker_.life(serial, false);
    return {true, (word & kPastStep) != 0, (word & kPastBackward) != 0};
  }

 private:
  static constexpr uint64_t kBlock = 64;
  static constexpr uint8_t kFreed = 1, kPastStep = 2, kPastBackward = 4;

  std::unordered_map<uint64_t, std::array<uint8_t, kBlock>> blocks_;
  LifeTracker tracker_;
};

}  // namespace tensorscope::analyzer
