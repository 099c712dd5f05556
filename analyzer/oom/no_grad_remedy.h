// SPDX-License-Identifier: Apache-2.0
// torch.no_grad(): a loop that never calls backward, and of which graphs of several passes are alive.
#pragma once

#include <optional>

#include "oom/headroom.h"
#include "oom/lines_to_change.h"
#include "oom/remedy.h"

namespace tensorscope::analyzer::oom {

std::optional<Remedy> no_grad_remedy(const RemedyCase& about, const Headroom& headroom, const LinesToChange& lines);

}  // namespace tensorscope::analyzer::oom
