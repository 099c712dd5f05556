// SPDX-License-Identifier: Apache-2.0
// Of several containers that are written alike up to their indexes, such as the lists in one list or in one dict, the
// one that grows.
//
// Not thread-safe.
#pragma once

#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

// Returns the series of the one container that has all of this growth, if the others have as many tensors in every
// dump; else the series as it is.
Series narrowed(const LeakAnalysis& analysis, const Series& series);

}  // namespace tensorscope::analyzer
