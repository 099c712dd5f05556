// SPDX-License-Identifier: Apache-2.0
// What Python holds and could free: garbage, containers, running sums, states that were not detached.
#pragma once

#include <vector>

#include "oom/headroom.h"
#include "oom/lines_to_change.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

// Nothing where the dump has no references.
std::vector<Remedy> holder_remedies(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines);

}  // namespace tensorscope::analyzer::oom
