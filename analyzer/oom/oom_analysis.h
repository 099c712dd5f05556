// SPDX-License-Identifier: Apache-2.0
// What happened when memory ran out, in the order of a person's questions: what failed, whose memory it is, where the
// most of it was made, what grew, and what would make room.
//
// A dump without a failure has no request: everything describes its moment, and no remedy claims that something would
// fit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaks/suspects.h"
#include "memory/difference.h"
#include "oom/balance.h"
#include "oom/free_memory.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

// A tensor that the innermost function of the failing stack works on.
struct Operand {
  std::string name{};  // "query"
  uint32_t tensor = 0;
};

struct OomAnalysis {
  Device device;         // whose memory this is about; the CPU: the host's
  uint64_t request = 0;  // bytes of the failed request, 0: none failed, or not known
  FreeMemory cached;     // of a device's allocator
  BalanceNode balance;
  std::vector<Group> places;      // of `device`, by line, the most bytes first
  std::vector<Remedy> remedies;   // in the order in which to try them (remedies.h)
  uint32_t backward_site = 0;     // a backward failed: a site below its call, 0: not known
  bool in_optimizer = false;      // an optimizer's step made the request
  bool too_large = false;         // the request is larger than the whole memory: no remedy
  std::vector<Operand> operands;  // then: tensors in variables of the function that made the request, the largest first
  enum class Missing : uint8_t { nothing, references, some_references } remedies_missing = Missing::nothing;
  std::optional<Difference> growth;  // of `device`, since the earlier dump
  std::vector<Suspect> suspects;     // on `device`: what was fed for long and hardly ever emptied (leaks/suspects.h)
};

// The device that a dump's story is about: the failure's, else the one that is fullest, else the host.
Device subject_of(const Dump& dump);
// A failure of this device or of the host, or a limit that came near; not one of another device.
bool concerns(const Failure& failure, Device device);

// `on_device`: views of one run in order of time, in which what lies on `device` is selected; `unfiltered`: the same
// with everything selected. The story is that of the last one.
OomAnalysis oom_analysis_of(const std::vector<View>& unfiltered, const std::vector<View>& on_device, Device device);

}  // namespace tensorscope::analyzer::oom
