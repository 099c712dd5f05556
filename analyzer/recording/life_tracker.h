// SPDX-License-Identifier: Apache-2.0
// Follows steps and backward passes through a recording, and says of an allocation which of them it has outlived.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dump/allocation_life.h"
#include "tensorscope/event_stream.h"

namespace tensorscope::analyzer {

class LifeTracker {
 public:
  void note(const format::RecordedEvent& event) {
    if (event.type == format::EventType::step) step_began_ = std::max(step_began_, event.order);
    if (event.type == format::EventType::allocated && event.node != 0) backward_ = std::max(backward_, event.serial);
  }
  // Of the allocation with this serial, which ends now (`freed`) or with the recording.
  AllocationLife life(uint64_t serial, bool freed) const { return {freed, serial <= step_began_, serial < backward_}; }

 private:
  uint64_t step_began_ = 0;  // the newest serial then
  uint64_t backward_ = 0;    // the newest allocation in a backward pass
};

}  // namespace tensorscope::analyzer
