// SPDX-License-Identifier: Apache-2.0
// Parameters that were added entry by entry while the program was in use.
//
// Not thread-safe.
#pragma once

#include <vector>

#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

// Parameters of one dump that were added entry by entry while the program called the entries: adapters that are loaded
// and never removed. A model that is being built has not been called, one that was built has no new entry since.
std::vector<Series> entries_added_in_use(const LeakAnalysis& analysis);

}  // namespace tensorscope::analyzer
