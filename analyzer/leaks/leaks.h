// SPDX-License-Identifier: Apache-2.0
// What leaks: places that grew from dump to dump, and findings with their evidence. A program that does not leak gets
// none; one dump alone gives those findings that need no growth.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leaks/finding.h"
#include "leaks/process_growth.h"
#include "leaks/run_history.h"
#include "leaks/step_ends.h"
#include "leaks/suspects.h"

namespace tensorscope::analyzer {

// What holds some of a place's growth.
struct HeldShare {
  std::string holder;
  uint64_t bytes = 0;
};

struct GrownPlace {
  PlaceGrowth place;
  bool in_place = false;        // the same number of tensors, made anew and larger each time
  bool counts = false;          // enough of it to be called a leak; what is less is only listed
  bool larger_input = false;    // in place, of inputs that become larger; it does not count then
  bool slows = false;           // it grew by less and less; it does not count then
  bool remarked = false;        // a remark explains it; likewise
  std::string memory_at;        // the other listed place whose memory its tensors lie in; it does not count then
  uint32_t finding = kNone;     // index of the one that explains it
  std::vector<HeldShare> held;  // the most bytes first; empty where a finding says it
  Holder::Kind held_by = Holder::Kind::cpp;  // of the first of these
  bool holder_unknown = false;               // the search for names did not look at most of them
  std::string names_detail;                  // why not, where no limit ended it
};

// Growth of live bytes from the first to the last dump, and whose it is: findings, remarks, the running step and the
// rest add up to it. The rest is less than 0 where other memory was freed.
struct GrowthShares {
  int64_t all = 0, findings = 0, remarks = 0;
  int64_t running = 0;  // due to the dumps' places in a step, and in no finding or remark
  int64_t rest() const { return all - findings - remarks - running; }
  int64_t children = 0;  // growth in child processes whose dumps were read, too: beside all of these
  // What a limit is compared with: what a running step has at a dump comes and goes.
  int64_t lasting() const { return all - running + children; }
};

struct Leaks {
  size_t dumps = 0;
  bool weak = false;            // two dumps: one interval shows no trend
  std::vector<uint64_t> bytes;  // live, of the selection, one a dump
  std::vector<LeakFinding> findings;
  std::vector<Remark> remarks;                // what grew and is no finding, the largest growth first
  std::optional<LeakFinding> passing_cycles;  // unreachable cycles that Python's garbage collector frees: no finding
  ProcessGrowth process;                      // without a filter; a part of it is a finding only where it keeps growing
  std::vector<GrownPlace> places;             // the largest growth first
  GrowthShares growth;
  GrowthAtEnds at_ends;             // from the first to the last dump, without a filter
  std::vector<GrownPlace> unclear;  // where nothing was found, what grew at all: a later dump shows whether it goes on
  std::vector<Suspect> suspects;    // of a single dump, also beside moments of a recording: not findings
  std::vector<Suspect> replaced;    // likewise, while live memory did not grow: no suspects
  RunTrend trend;                   // of the last dump
  bool found() const;
  // The largest growth first, without those that no longer hold; places follow their findings.
  void sort_findings(const std::function<bool(const LeakFinding&)>& holds = [](const LeakFinding&) { return true; });
};

// `views`: in order of time, of one run. `unfiltered`: no filter is set.
Leaks find_leaks(std::vector<View> views, bool unfiltered);

}  // namespace tensorscope::analyzer
