// SPDX-License-Identifier: Apache-2.0
// Memory over the whole run, in a few points: at the end of each step, and at each second without one, the live bytes
// of each device, their peak since the point before, and what was allocated so far.
//
// Context: history_step() hook; history_second() and copy_history() collector. No memory is allocated. A hook takes one
// try_lock(): of two threads that end a step at once, the second one's moment is in the next point.
#pragma once

#include <cstddef>
#include <cstdint>

#include "live/step_count.h"
#include "support/ids.h"

namespace tensorscope::live {

inline constexpr size_t kHistoryPoints = 256;
inline constexpr size_t kHistoryDevices = 9;  // the CPU and the CUDA devices of one machine, as a rule

enum class MomentKind : uint8_t { step, second, dump };  // = format::

struct HistoryLevels {
  uint64_t live = 0;
  uint64_t peak = 0;       // since the moment before
  uint64_t allocated = 0;  // bytes, so far
};

// One moment, or as many that follow each other.
struct HistoryPoint {
  uint64_t ns = 0;        // of the levels
  uint64_t step = 0;      // steps that had ended, as `source` counts them
  uint64_t resident = 0;  // bytes of the process, as the collector last read them; 0: not known
  uint32_t moments = 1;
  MomentKind kind = MomentKind::second;
  StepSource source = StepSource::none;
  HistoryLevels devices[kHistoryDevices] = {};  // by slot

  // A later moment, or several. Steps are at the same phase of the program, so their levels can be compared: live and
  // allocated bytes, time and step are those of the last end of a step, if there is one, else of the last moment. A
  // peak is the highest of all.
  void add(const HistoryPoint& later);
};

// Always spans the whole run. When it is full, each two points that follow each other become one.
class HistoryRing {
 public:
  // `points` has room for kHistoryPoints.
  explicit constexpr HistoryRing(HistoryPoint* points) : points_(points) {}

  void add(const HistoryPoint& moment);
  size_t size() const { return size_; }
  uint32_t every() const { return every_; }  // so many moments are a point; the last one may have fewer
  const HistoryPoint& operator[](size_t i) const { return points_[i]; }
  void clear() {
    size_ = 0;
    every_ = 1;
  }

 private:
  HistoryPoint* points_;
  size_t size_ = 0;
  uint32_t every_ = 1;
};

// A step has ended (step_marks.h).
void history_step();
// Adds a moment if neither a step nor a second has added one for a second. `resident_bytes` returns those of the
// process, 0 if they cannot be read; it is called once a second at most.
void history_second(uint64_t (*resident_bytes)());

struct HistoryCopy {
  HistoryPoint* points = nullptr;  // room for kHistoryPoints + 1
  size_t size = 0;
  uint32_t every = 1;
  size_t devices = 0;           // that the points have
  size_t devices_left_out = 0;  // whose levels no point has
};
// Adds the present moment to the copy, which the history itself does not get. Under all table locks.
void copy_history(HistoryCopy& copy, uint64_t now_ns);

}  // namespace tensorscope::live
