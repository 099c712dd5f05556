// SPDX-License-Identifier: Apache-2.0
// Live bytes of each device by category while a recording is replayed.
#pragma once

#include <cstdint>
#include <map>

#include "recording/live_state.h"
#include "timeline/memory_timeline.h"
#include "timeline/run_lives.h"

namespace tensorscope::analyzer {

class LiveCategories {
 public:
  // `categories`: null where they are not asked for.
  LiveCategories(const MemoryCategories* categories, const RunLives& lives) : categories_(categories), lives_(lives) {}

  void clear() { live_.clear(); }
  void add(uint64_t serial, const RecordedAllocation& row) { change(serial, row, true); }
  void remove(uint64_t serial, const RecordedAllocation& row) { change(serial, row, false); }
  const LiveBytes& of(Device device) { return live_[device]; }

 private:
  void change(uint64_t serial, const RecordedAllocation& row, bool more) {
    LiveBytes& live = live_[row.device];
    const MemoryCategory found =
        categories_ ? categories_->of(serial, row.site, row.node != 0, lives_.life(serial)) : MemoryCategory{};
    const uint64_t change = more ? row.nbytes : 0 - row.nbytes;
    live.bytes += change;
    live.categories[size_t(found.category)] += change;
    if (found.source == CategorySource::inferred) live.inferred += change;
  }

  const MemoryCategories* categories_;
  const RunLives& lives_;
  std::map<Device, LiveBytes> live_;
};

}  // namespace tensorscope::analyzer
