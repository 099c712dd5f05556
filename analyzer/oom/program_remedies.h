// SPDX-License-Identifier: Apache-2.0
// What the program could do otherwise: compute no graphs, compute activations again, take a lighter step, a smaller
// batch, fewer bits.
#pragma once

#include <vector>

#include "oom/headroom.h"
#include "oom/lines_to_change.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

std::vector<Remedy> program_remedies(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines);

}  // namespace tensorscope::analyzer::oom
