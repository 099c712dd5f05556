// SPDX-License-Identifier: Apache-2.0
// Who else keeps what a growing container keeps: to empty the container alone frees less then.
//
// Context: any.
#pragma once

#include "leaks/leak_analysis.h"

namespace tensorscope::analyzer {

// Sets LeakFinding::also_held_by and frees_alone where a quarter or more of the bytes in it
// is referred to from outside of the container, too.
void note_second_owners(const LeakAnalysis& analysis, const Series& series, LeakFinding& finding);

}  // namespace tensorscope::analyzer
