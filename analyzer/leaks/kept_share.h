// SPDX-License-Identifier: Apache-2.0
// How much of what was ever made is still there: what has leaked is, what comes and goes is not.
//
// Context: any.
#pragma once

#include <cstdint>
#include <vector>

#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

struct CreatedCount {
  uint64_t all = 0, alive = 0;
};

// What was allocated at the sites that these tensors' memory comes from, but those with little of it. What the
// allocator does not know (numpy, shared memory) is counted by its tensors.
CreatedCount count_created(const LeakAnalysis& analysis, const std::vector<uint32_t>& tensors);

// Two fifths or more are alive.
bool mostly_kept(const CreatedCount& made);

// Whether seven of eight tensors of this dump, or more, are among those of the last one.
bool nearly_all_stay(const LeakAnalysis& analysis, size_t dump, const std::vector<uint32_t>& tensors,
                     const std::vector<uint32_t>& in_last);

}  // namespace tensorscope::analyzer
