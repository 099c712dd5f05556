// SPDX-License-Identifier: Apache-2.0
// What helps where an optimizer takes the memory. In its step activations are gone: what is there are parameters,
// gradients, the optimizer's state, and what the step itself makes.
#pragma once

#include <vector>

#include "oom/headroom.h"
#include "oom/lines_to_change.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

// Empty where no optimizer's step made the request and its state is less than a quarter of what is allocated.
std::vector<Remedy> step_remedies(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines);

}  // namespace tensorscope::analyzer::oom
