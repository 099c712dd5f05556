// SPDX-License-Identifier: Apache-2.0
// What a run will need: its peak with how far that may be off, what a device's allocator reserves for it, whether it
// fits, and the largest sizes that do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forecast/peak_rows.h"
#include "forecast/replay.h"
#include "forecast/reserved.h"
#include "forecast/whatif/scenario.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::forecast {

// A peak, and how much more and less it may be. What may be missing or may come besides goes one way only; where both
// are alike they are equal.
struct PeakRange {
  double bytes = 0, more = 0, less = 0;
  double most() const { return bytes + more; }
  double least() const { return bytes - less; }
};

using oom::Fits;

struct LargestSize {
  size_t size = 0;  // index
  int64_t value = 0;
  bool none = false;  // not even 1 fits
  bool more = false;  // more than any that was tried
  // Of one more: the allocation that passes the limit.
  std::string first_over;
  double first_over_bytes = 0;
};

struct Outcome {
  std::string name;  // "" as it is
  PeakRange peak;
  PeakRange without_scratch;  // the same without what cuDNN works in; 0: it runs no convolutions
  // Its convolutions have another type than in the base, so what cuDNN works in is not known: the peak is without it,
  // and would be so much higher with what it was in the type of the base.
  std::optional<double> scratch_as_recorded;
  std::vector<UnknownType> unknown_types;  // the most first
  bool unread = false;                     // it depends on files that could not be read
  PeakRange reserved;                      // by the device's allocator; 0: not known
  Fits fits = Fits::unknown;
  std::vector<LargestSize> largest;  // of each size, the others as asked for; empty without a limit
};

// An input against what the growths say of it, from the base.
struct Check {
  size_t sample = 0;
  double predicted = 0;
};

// What the replay misses an input by, as a part of it.
double missed_part(const std::vector<Sample>& samples, const std::vector<Check>& checks);

// Parts of the peak that a what-if may be off by, at the least: twice what the checked models were off by.
double least_error(const Scenario& scenario, bool cpu);

class Outcomes {
 public:
  // How far the replay is off in the inputs.
  struct Misses {
    double missed = 0;                // missed_part()
    double missed_by_read_names = 0;  // the same where call stacks are matched by what can be read of them
  };
  // `replay`: the run as it is. `limit`: bytes of the device. What is passed must outlive it.
  Outcomes(const PeakQuestion& question, const std::vector<Size>& sizes, std::optional<uint64_t> limit,
           const Replay& replay, const Misses& misses);

  // `other`: the same by what can be read of call stacks, where that is not all. `least`: a part of the peak that it
  // may be off by in any case.
  Outcome of(const Replay& replay, const PeakAt& at, const std::optional<Replay>& other, double least = 0) const;
  // The numbers that are shown; whether it fits, and the largest sizes, stay as they are.
  void leave_out_scratch(Outcome& outcome, const Replay& without) const;

 private:
  const Sample& base() const { return question_.samples[question_.base]; }
  void note_reserved(const std::vector<Size>& sizes, const Replay& replay);
  ReservedPeaks reserved_at_target(const Replay& replay) const;
  PeakRange range(const Replay& replay, const PeakAt& at, const ReservedPeaks& device, double missed) const;
  PeakRange peak_of(const Replay& replay, const PeakAt& at, const ReservedPeaks& device, double missed,
                    double least) const;
  PeakRange peak_of(const Replay& replay, double missed, double least) const;
  PeakRange or_other(PeakRange result, const std::optional<Replay>& other, double least) const;
  void reserve(Outcome& outcome, const ReservedPeaks& device) const;
  Fits fits(const Outcome& outcome, double limit) const;
  LargestSize largest(const Replay& replay, size_t size, double limit) const;

  const PeakQuestion& question_;
  const size_t sizes_;
  const std::optional<uint64_t> limit_;
  const Misses misses_;
  bool reserves_ = false;     // an input says what the device's allocator reserved
  double reserved_miss_ = 0;  // the most that its rules miss an input by, as a part
};

}  // namespace tensorscope::analyzer::forecast
